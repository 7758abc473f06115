package whennot

import (
	"context"
	"time"
)

func init() {
	for {
		select {
		case <-time.After(time.Minute):
		case <-context.Background().Done():
			return
		}
	}
}

func once(ch <-chan int) {
	for range 3 {
		select {
		case <-ch:
		case <-time.After(time.Millisecond):
		}
	}
	for n := range ch {
		select {
		case <-ch:
			return
		case <-time.After(time.Duration(n)):
			return
		}
	}
}

var deadline = time.After(time.Hour)

func outside() {
	<-time.After(time.Millisecond)
	ch := time.After(time.Millisecond)
	<-ch
}
