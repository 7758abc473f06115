/* The unbounded queue for one producer of package queue (spsc.go): linked chunks,
 * which go back to the producer through a ring, and closing.
 *
 * A value is its position plus 1. The ring of empty chunks is exact here; it is
 * modelled by itself in spscring.pml.
 *
 * Checked: every value comes out once and in order; the producer never writes to
 * a slot that was not emptied; the queue that is closed at any time has
 * accepted exactly what Close says, and all of it comes out; no deadlock.
 *
 * Faults that must be found (spin -D...):
 *   PUBLISH  tail is stored before the value
 *   STORE    the producer looks whether the queue is closed and then stores tail
 *   EARLY    a chunk goes back before its last slot was emptied
 */

#define SLOTS 2
#define TOTAL 7
#define CHUNKS 4		/* memory; more than can be in use where values are not lost */
#define SPARE 1			/* what the ring holds */
#define NIL 15

byte tail;
bool closed;			/* in one word with tail */
byte end;			/* what Close returned */
byte accepted;			/* what the producer was told (ghost) */
bool done;			/* it has ended (ghost) */
byte value[CHUNKS * SLOTS];
byte next[CHUNKS];
bool used[CHUNKS];		/* allocated and not collected; all but the first come later */
chan ring = [SPARE] of { byte };

active proctype producer() {	/* chunk 0 is the first */
	byte pushed, at, filling, c;

	atomic { used[0] = true; next[0] = NIL };
	do
	:: pushed == TOTAL -> break
	:: pushed < TOTAL ->
		if
		:: at == SLOTS ->
			atomic {
				if
				:: ring?c
				:: empty(ring) ->
					c = 0;
					do
					:: c < CHUNKS && used[c] -> c++
					:: else -> break
					od;
					c < CHUNKS;	/* the others are drained first */
					used[c] = true
				fi;
				next[c] = NIL
			};
			next[filling] = c;
			filling = c;
			at = 0
		:: else
		fi;
#ifndef PUBLISH
		assert(value[filling * SLOTS + at] == 0);
		value[filling * SLOTS + at] = pushed + 1;
#endif
#ifdef STORE
		if
		:: closed -> break
		:: else
		fi;
		tail = pushed + 1;
#else
		atomic {
			if
			:: closed -> value[filling * SLOTS + at] = 0; break
			:: else -> tail = pushed + 1
			fi
		};
#endif
#ifdef PUBLISH
		value[filling * SLOTS + at] = pushed + 1;
#endif
		pushed++;
		at++
	od;
	atomic { accepted = pushed; done = true }
}

active proctype closer() {
	atomic { closed = true; end = tail }
}

active proctype consumer() {
	byte head, seen, chunk, from, c;

	do
	:: head < seen ->
		if
		:: from == SLOTS ->
			atomic { c = chunk; chunk = next[c]; assert(chunk != NIL); from = 0 };
#ifndef EARLY
			atomic {
				if
				:: ring!c
				:: full(ring) -> used[c] = false
				fi
			}
#endif
		:: else
		fi;
#ifdef EARLY
		atomic {
			if
			:: from == SLOTS - 1 && nfull(ring) -> ring!chunk
			:: else
			fi
		};
#endif
		assert(value[chunk * SLOTS + from] == head + 1);
		value[chunk * SLOTS + from] = 0;
		from++;
		head++
	:: head == seen && seen != tail -> seen = tail
	:: head == seen && seen == tail && closed -> break
	od;
	done;				/* the producer is */
	assert(head == end && accepted == end)
}
