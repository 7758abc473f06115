#include "textflag.h"

// func pause()
TEXT ·pause(SB), NOSPLIT, $0-0
	MOVL $30, CX
again:
	PAUSE
	DECL CX
	JNZ  again
	RET
