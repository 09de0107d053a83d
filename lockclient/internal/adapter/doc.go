// Package adapter is what adapters of clients to lockclient.Transport share: how
// they read errors and INFO.
package adapter
