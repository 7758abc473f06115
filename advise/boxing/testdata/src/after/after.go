package after

import "log/slog"

func handle(uid int64, score int) {
	slog.Info("event", "uid", uid, "score", score)
	logOne("uid", uid)
}

type Loggable interface {
	~int | ~int64 | ~string | ~float64
}

var last string

func logOne[T Loggable](key string, v T) {
	last = key
}
