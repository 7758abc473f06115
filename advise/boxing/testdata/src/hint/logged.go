package hint

import (
	"context"
	"log/slog"
)

func Slog(ctx context.Context, l *slog.Logger, counts []int) {
	for _, n := range counts {
		slog.Debug("count", "n", n)          // want `n is boxed for Debug even where nothing is logged; ask slog.Default\(\).Enabled before`
		l.DebugContext(ctx, "count", "n", n) // want `n is boxed for DebugContext even where nothing is logged; ask Enabled before`
		l.Info("count", "n", n)              // on in production
		l.Debug("count", "n", 3)             // a constant
		l.Debug("count")
		if l.Enabled(ctx, slog.LevelDebug) {
			l.Debug("count", "n", n)
		}
	}
}

// What a mode of debugging asks for costs nothing without it.
func Dumped(ctx context.Context, debug bool, counts []int) {
	for _, n := range counts {
		if debug {
			ctx = context.WithValue(ctx, &ctx, n)
		}
		ctx = context.WithValue(ctx, &ctx, n) // want `n is boxed to be passed as any to context.WithValue`
	}
}

type plain interface {
	Debugf(format string, args ...any)
}

type leveled interface {
	plain
	IsDebug() bool
}

type strange interface {
	plain
	Enabled() error
}

func Leveled(p plain, l leveled, s strange, counts []int) {
	for _, n := range counts {
		p.Debugf("%d", n) // nothing tells
		s.Debugf("%d", n)
		l.Debugf("%d", n) // want `n is boxed for Debugf even where nothing is logged; ask IsDebug before`
		if l.IsDebug() {
			l.Debugf("%d", n)
		}
	}
}
