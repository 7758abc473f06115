/* The bounded ring for many producers of package queue (mpscring.go).
 *
 * Positions are bytes that wrap around within a run, as 64-bit positions
 * would. A push that finds the ring full tries again.
 *
 * Checked: every value comes out once and in the order of positions; no slot
 * is written before it was emptied; a push that reports a full ring has seen
 * CAPACITY positions taken at that moment; no deadlock.
 *
 * Faults that must be found (spin -D...):
 *   OVERWRITE  a push does not look whether the ring is full
 *   READY      a slot is marked as ready before its value is stored
 *   RELEASE    head is stored before the slot is emptied
 *   LOSE       the position is taken by a load and a store instead of a compare-and-swap
 */

#define SLOTS 2
#define CAPACITY 2
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef PUSHES
#define PUSHES 4
#endif
#define TOTAL (PRODUCERS * PUSHES)
#define START 253
#define ROOM(limit, pos) (((limit) - (pos) + 512) & 255)	/* limit - pos, as an unsigned byte */

byte tail = START;
byte limit = START + CAPACITY;
byte head = START;
byte value[SLOTS];
bool ready[SLOTS];
byte order[TOTAL];	/* by position: the value pushed (ghost) */

proctype producer(byte id) {
	byte i, pos, seen, free;

	do
	:: i == PUSHES -> break
	:: i < PUSHES ->
		pos = tail;
#ifndef OVERWRITE
		free = ROOM(limit, pos);
		if
		:: free == 0 || free > 128 ->
			atomic {
				seen = (head + CAPACITY) & 255;
				free = ROOM(seen, pos);
				if
				:: free == 0 || free > 128 -> assert(ROOM(tail, head) == CAPACITY)
				:: else
				fi
			};
			if
			:: free == 0 || free > 128 -> goto again
			:: else -> limit = seen
			fi
		:: else
		fi;
#endif
#ifdef LOSE
		tail = (pos + 1) & 255;
#else
		if
		:: atomic {
			tail == pos ->
			tail = (pos + 1) & 255;
			order[(pos - START + 256) & 255] = id * PUSHES + i + 1
		   }
		:: tail != pos -> goto again
		fi;
#endif
		assert(!ready[pos % SLOTS] && value[pos % SLOTS] == 0);
#ifdef READY
		ready[pos % SLOTS] = true;
		value[pos % SLOTS] = id * PUSHES + i + 1;
#else
		value[pos % SLOTS] = id * PUSHES + i + 1;
		ready[pos % SLOTS] = true;
#endif
		i++;
again:		atomic { pos = 0; seen = 0; free = 0 }
	od
}

proctype consumer() {
	byte n, v;

	do
	:: n == TOTAL -> break
	:: n < TOTAL ->
		atomic { ready[head % SLOTS] -> v = value[head % SLOTS] };
		assert(v == order[n]);
#ifdef RELEASE
		head = (head + 1) & 255;
		atomic { value[((head + 255) & 255) % SLOTS] = 0; ready[((head + 255) & 255) % SLOTS] = false };
#else
		atomic { value[head % SLOTS] = 0; ready[head % SLOTS] = false };
		head = (head + 1) & 255;
#endif
		atomic { n++; v = 0 }
	od;
	assert(tail == head)
}

init {
	byte p;
	atomic {
		do
		:: p < PRODUCERS -> run producer(p); p++
		:: else -> break
		od;
		run consumer();
		p = 0
	}
}
