//go:build !(gc && go1.26 && !go1.28 && !race && !asan && !msan && !js)

package park

// Direct reports whether a sleeper parks without the channel, unless it selects.
const Direct = false

func (s *Sleeper) park() { panic("park: a sleep without the channel") }
func ready(uintptr)      { panic("park: a sleep without the channel") }
