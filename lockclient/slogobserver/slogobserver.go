package slogobserver

import (
	"context"
	"errors"
	"log/slog"

	"minikv/lockclient"
)

// New returns an observer that writes to log.
func New(log *slog.Logger) func(lockclient.Event) {
	return func(e lockclient.Event) {
		log.LogAttrs(context.Background(), level(e), "lock "+e.Kind.String(), attributes(e)...)
	}
}

// level is warning for what an operator should see.
func level(e lockclient.Event) slog.Level {
	quiet := e.Err == nil || errors.Is(e.Err, lockclient.ErrNotAcquired)
	if e.Kind == lockclient.Lost || !quiet {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// attributes are the fields that the event's kind has.
func attributes(e lockclient.Event) []slog.Attr {
	attrs := []slog.Attr{slog.String("key", e.Key), slog.String("owner", e.Owner)}
	switch e.Kind {
	case lockclient.Acquired, lockclient.Failed:
		attrs = append(attrs, slog.Duration("wait", e.Wait), slog.Int("attempts", e.Attempts))
	case lockclient.Released, lockclient.Lost:
		attrs = append(attrs, slog.Duration("held", e.Held))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("error", e.Err))
	}
	return attrs
}
