//go:build !(gc && go1.26 && !go1.28 && !race && !asan && !msan && !js)

package park

const direct = false

func (s *Sleeper) park() { panic("park: a sleep without the channel") }
func ready(uintptr)      { panic("park: a sleep without the channel") }
