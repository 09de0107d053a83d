// Package slogobserver writes lockclient's events to a log/slog logger.
//
//	client := lockclient.New(transport, lockclient.System(),
//		lockclient.WithObserver(slogobserver.New(slog.Default())))
//
// Losses and failures other than a lock that was taken are warnings, the rest
// is for debugging.
package slogobserver
