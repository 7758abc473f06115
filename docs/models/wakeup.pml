/* How package eventloop sleeps and ends (sleep.go: drowse, doze, stay; package
 * park: Sleeper; submit.go: post; loop.go: close, finished; poll.go: watch,
 * runIO, fill).
 *
 * Producers count themselves at a gate, which is the tail of the queue or of a
 * lane, put a task into the queue, and wake the
 * loop if it is parked. Somebody closes the gates, one after another, adds up
 * how many tasks were accepted, and signals the loop, which ends when it has
 * run that many. The loop waits for a token of a channel, or parks in the word
 * in which it has announced its sleep, where the runtime looks whether the
 * announcement has ended when the goroutine is already waiting. An alarm, which
 * stands for a timer, may end one sleep on the channel at any time, or none. The queue is a count: its own model is mpsc.pml.
 *
 * Descriptors become ready in the kernel, which leaves an edge; a watcher takes the edge,
 * says that there is something, and wakes the loop if it is parked. The loop
 * fetches what is ready, at most one at a time, and fetches again if its buffer
 * was full. One of the descriptors is level-triggered: the first read does not
 * empty it, and it stays ready without a further edge. The loop's occasional look without being told is left out, so that
 * nothing depends on it. Gates are closed when everything has been read.
 *
 * Every statement is one atomic step of the implementation.
 *
 * Checked: no deadlock, so no wake-up is lost; everything accepted is run
 * and nothing else; everything is read; a token is sent only when there is none,
 * so that sending never waits, and none is left when the loop has ended.
 *
 * Faults that must be found (spin -D...):
 *   RECHECK  the loop does not look for tasks again after it has parked
 *   EARLY    a producer looks whether the loop is parked before it puts its task
 *   COMMIT   the loop parks although its announcement has ended
 *   TOKEN    the loop leaves the token of a wake-up that it did not need
 *   DEDUPE   whoever finds the loop parked sends a token, first or not
 *   GATE     a producer looks whether the gate is closed, and counts itself later
 *   SUM      what was accepted is added up before the gates are closed
 *   WATCH    the watcher looks whether the loop is parked before it says that there is something
 *   CLEAR    the loop forgets that there is something after it has fetched, not before
 *   LOOK     the loop does not look whether there is something after it has parked
 *   AGAIN    the loop does not fetch again what is still ready
 */

#define PRODUCERS 2
#define GATES 2
#define TASKS 2		/* by producer 0; by producer 1 one less */

byte gate[GATES];	/* submissions counted */
bool closed[GATES];
byte queue;		/* tasks in the ingress */
bool parked;		/* the sleep is announced */
bool held;		/* the loop's goroutine lies in the word */
bool channel;		/* the loop wants a token */
bool runnable;		/* the goroutine was made ready */
byte token;		/* the channel, capacity 1 */
bool drain;		/* the signal */
byte accepted;		/* published by drain */
byte ran;
byte succeeded;		/* submissions that returned nil (ghost) */
bool over;		/* the loop has ended */

#define EVENTS 2	/* that the kernel tells, besides the one that lasts */
byte kernel;		/* descriptors ready in the kernel */
bool edge;		/* the runtime's poller has something for the watcher */
bool ready;		/* the watcher's word to the loop */
byte got;		/* reads (ghost) */

#define NOTHING 1		/* is owed: the loop will see that its sleep has ended */
#define READY 2
#define TOKENS 3

inline look(won) {
	won = (!parked -> 0 : (held -> READY : (channel -> TOKENS : NOTHING)))
}

inline unpark(won) {
#ifdef DEDUPE
	atomic { look(won) };
	if
	:: won -> atomic { parked = false; held = false }
	:: else
	fi;
#else
	atomic { look(won); parked = false; held = false };
#endif
	if
	:: won == READY -> atomic { assert(!runnable); runnable = true }
	:: won == TOKENS -> atomic { assert(token == 0); token++ }
	:: else
	fi;
	won = 0
}

proctype producer(byte id) {
	byte i, g;
	byte won;
	bool open;

	do
	:: i == TASKS - id -> break
	:: i < TASKS - id ->
		if				/* any P */
		:: g = 0
		:: g = 1
		fi;
#ifdef GATE
		open = !closed[g];
		if
		:: open -> gate[g]++
		:: else
		fi;
#else
		atomic {
			open = !closed[g];
			if
			:: open -> gate[g]++
			:: else
			fi
		};
#endif
		if
		:: open ->
#ifdef EARLY
			unpark(won);
			atomic { queue++; succeeded++ };
#else
			atomic { queue++; succeeded++ };
			unpark(won);
#endif
		:: else
		fi;
		atomic { i++; g = 0; open = false }
	od
}

proctype peer() {		/* whose data arrives */
	byte i;

	do
	:: i == EVENTS -> break
	:: i < EVENTS -> atomic { kernel++; edge = true; i++ }
	od
}

proctype watcher() {
	byte won;

end:	do
	:: atomic { edge -> edge = false };
#ifdef WATCH
		unpark(won);
		ready = true;
#else
		ready = true;
		unpark(won);
#endif
	od
}

proctype closer() {
	byte g, won;

	got == EVENTS + 1;
#ifdef SUM
	atomic { accepted = gate[0] + gate[1] };
#endif
	do
	:: g == GATES -> break
	:: g < GATES ->
		atomic {
			closed[g] = true;
#ifndef SUM
			accepted = accepted + gate[g];
#endif
			g++
		}
	od;
	drain = true;
	unpark(won)
}

inline stay(won) {
	atomic { won = parked; parked = false };
#ifndef TOKEN
	if
	:: !won && channel -> atomic { token > 0 -> token-- }
	:: else
	fi;
#endif
	won = 0
}

/* runIO: at most one event; the first of all leaves its descriptor ready. */
inline runio(n) {
#ifndef CLEAR
	ready = false;
#endif
	atomic {			/* fetch */
		again = false;
		if
		:: kernel > 0 ->
			n = 1;
#ifndef AGAIN
			again = true;
#endif
			if
			:: lasts -> lasts = false
			:: !lasts -> kernel--
			fi
		:: else
		fi
	};
#ifdef CLEAR
	ready = false;
#endif
	atomic { got = got + n; n = 0 }
}

proctype loop() {
	byte n, alarms, won;
	bool again, lasts = true;

	select(alarms : 0 .. 1);
	do
	:: drain && ran == accepted -> break
	:: else ->
		if
		:: ready || again -> runio(n)
		:: else
		fi;
		atomic { n = queue; queue = 0 };	/* fill and run */
		if
		:: n > 0 -> atomic { ran = ran + n; n = 0 }
		:: n == 0 && (ready || again)		/* no time to sleep */
		:: else ->				/* sleep */
			atomic {
				if
				:: channel = true
				:: alarms == 0 -> channel = false
				fi;
				parked = true
			};
#ifndef RECHECK
			if
			:: drain && ran == accepted -> stay(won); goto next
			:: else
			fi;
			atomic { n = queue; queue = 0 };
			if
			:: n > 0 -> atomic { ran = ran + n; n = 0 }; stay(won); goto next
			:: else
			fi;
#endif
#ifndef LOOK
			if
			:: ready -> stay(won); goto next
			:: else
			fi;
#endif
			if
			:: atomic { channel && token > 0 -> token-- }
			:: atomic { channel && alarms > 0 -> alarms-- }; stay(won)
#ifdef COMMIT
			:: !channel -> held = true;
				atomic { runnable -> runnable = false }
#else
			:: atomic { !channel && parked -> held = true };
				atomic { runnable -> runnable = false }
			:: !channel && !parked
#endif
			fi
		fi;
next:		skip
	od;
	over = true;
}

init {
	atomic {
		run watcher();	/* first, as it stays */
		run producer(0);
		run producer(1);
		run closer();
		run peer();
		run loop()
	};
	over && _nr_pr == 2 && !edge;	/* the watcher waits for ever */
	assert(got == EVENTS + 1 && ran == succeeded && queue == 0);
	assert(token == 0 && !parked && !held && !runnable)
}
