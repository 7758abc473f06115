package whennot

import "time"

func forever(beat func()) {
	for range time.Tick(time.Minute) {
		beat()
	}
}
