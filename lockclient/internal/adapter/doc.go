// Package adapter is what adapters of clients to lockclient.Transport share: how
// they free their callers in time, keep connections, and read errors and INFO.
package adapter
