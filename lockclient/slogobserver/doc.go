// Package slogobserver writes lockclient's events to a log/slog logger.
//
//	client := lockclient.New(transport, lockclient.System(),
//		lockclient.WithObserver(slogobserver.New(slog.Default())))
//
// Losses, and events with an error other than ErrNotAcquired, are warnings. All
// else has the level Debug.
package slogobserver
