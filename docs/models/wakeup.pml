/* How package eventloop sleeps and ends (sleep.go: sleep, stay, unpark;
 * submit.go: post, gate; loop.go: close, finished).
 *
 * Producers count themselves at a gate, put a task into the queue, and wake the
 * loop if it is parked. Somebody closes the gates, one after another, adds up
 * how many tasks were accepted, and signals the loop, which ends when it has
 * run that many. An alarm, which stands for a timer, may end one sleep at
 * any time, or none. The queue is a count: its own model is mpsc.pml. Every statement is one
 * atomic step of the implementation.
 *
 * Checked: no deadlock, so no wake-up is lost; everything accepted is run
 * and nothing else; a token is sent only when there is none, so that sending
 * never waits, and none is left when the loop has ended.
 *
 * Faults that must be found (spin -D...):
 *   RECHECK  the loop does not look for tasks again after it has parked
 *   EARLY    a producer looks whether the loop is parked before it puts its task
 *   TOKEN    the loop leaves the token of a wake-up that it did not need
 *   DEDUPE   whoever finds the loop parked sends a token, first or not
 *   GATE     a producer looks whether the gate is closed, and counts itself later
 *   SUM      what was accepted is added up before the gates are closed
 */

#define PRODUCERS 2
#define GATES 2
#define TASKS 2		/* by each producer */

byte gate[GATES];	/* submissions counted */
bool closed[GATES];
byte queue;		/* tasks in the ingress */
bool parked;
byte token;		/* the channel wake, capacity 1 */
bool drain;		/* the signal */
byte accepted;		/* published by drain */
byte ran;
byte succeeded;		/* submissions that returned nil (ghost) */
bool over;		/* the loop has ended */

#ifdef DEDUPE
inline unpark(won) {
	won = parked;
	if
	:: won -> parked = false; atomic { assert(token == 0); token++ }
	:: else
	fi;
	won = false
}
#else
inline unpark(won) {
	atomic { won = parked; parked = false };
	if
	:: won -> atomic { assert(token == 0); token++ }
	:: else
	fi;
	won = false
}
#endif

proctype producer(byte id) {
	byte i, g;
	bool won, open;

	do
	:: i == TASKS -> break
	:: i < TASKS ->
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

proctype closer() {
	byte g;
	bool won;

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
	:: !won -> atomic { token > 0 -> token-- }
	:: else
	fi;
#endif
	won = false
}

proctype loop() {
	byte n, alarms;
	bool won;

	select(alarms : 0 .. 1);
	do
	:: drain && ran == accepted -> break
	:: else ->
		atomic { n = queue; queue = 0 };	/* fill and run */
		if
		:: n > 0 -> atomic { ran = ran + n; n = 0 }
		:: else ->				/* sleep */
			parked = true;
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
			if
			:: atomic { token > 0 -> token-- }
			:: atomic { alarms > 0 -> alarms-- }; stay(won)
			fi
		fi;
next:		skip
	od;
	over = true;
}

init {
	atomic {
		run producer(0);
		run producer(1);
		run closer();
		run loop()
	};
	_nr_pr == 1;
	assert(over && ran == succeeded && queue == 0);
	assert(token == 0 && !parked)
}
