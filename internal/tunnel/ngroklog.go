package tunnel

import (
	"context"
	"fmt"
	"log/slog"
)

// sdkLog passes the SDK's log on at debug level, whatever level the SDK chose, and without secrets: the SDK logs
// ngrok's answers, and those repeat the authtoken.
type sdkLog struct {
	to      slog.Handler
	secrets []string
}

func sdkLogger(log *slog.Logger, secrets []string) *slog.Logger {
	return slog.New(sdkLog{to: log.Handler(), secrets: secrets})
}

// Enabled implements slog.Handler.
func (s sdkLog) Enabled(ctx context.Context, _ slog.Level) bool {
	return s.to.Enabled(ctx, slog.LevelDebug)
}

// Handle implements slog.Handler.
func (s sdkLog) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, slog.LevelDebug, "ngrok: "+scrub(r.Message, s.secrets), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(s.clean(a))
		return true
	})
	return s.to.Handle(ctx, clean)
}

// WithAttrs implements slog.Handler.
func (s sdkLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = s.clean(a)
	}
	return sdkLog{to: s.to.WithAttrs(clean), secrets: s.secrets}
}

// WithGroup implements slog.Handler.
func (s sdkLog) WithGroup(name string) slog.Handler {
	return sdkLog{to: s.to.WithGroup(name), secrets: s.secrets}
}

// clean turns every value into text first, so that no handler prints a structure behind the scrubbing's back.
func (s sdkLog) clean(a slog.Attr) slog.Attr {
	value := a.Value.Resolve()
	switch value.Kind() {
	case slog.KindGroup:
		members := value.Group()
		clean := make([]any, len(members))
		for i, member := range members {
			clean[i] = s.clean(member)
		}
		return slog.Group(a.Key, clean...)
	case slog.KindString, slog.KindAny:
		if a.Key == "req" || a.Key == "resp" {
			return slog.String(a.Key, "[message]") // protocol messages hold cookies and tokens
		}
		return slog.String(a.Key, scrub(fmt.Sprint(value.Any()), s.secrets))
	}
	return slog.Attr{Key: a.Key, Value: value}
}
