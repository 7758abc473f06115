package lines

const hasPause = true

// pause executes 30 PAUSE instructions.
func pause()
