/* The unbounded queue of package queue (mpsc.go): tickets, linked chunks,
 * the reuse of drained chunks, and closing.
 *
 * Every statement below is one atomic step of the implementation, or several
 * of which only one touches state that another process can see at that time.
 * Chunks come from a small memory; a chunk that the consumer reclaims is linked
 * again at once, which is the hardest case for pushes that are held up.
 *
 * Checked: every value comes out once, in the order of the tickets, and each
 * producer's in the order it pushed them; no push writes to a chunk that is
 * not its ticket's; nothing is left when all is drained; the queue that is
 * closed at any time has accepted exactly what Close says, and all of it comes
 * out; no deadlock.
 *
 * Faults that must be found (spin -D...):
 *   RECLAIM  a drained chunk is linked again without waiting for pushes
 *   HINT     the tail is read before the hint has left the drained chunk
 *   READY    a slot is marked as ready before its value is stored
 *   CLOSE    a push asks whether the queue is closed before it takes its ticket
 *   END      Close notes how many there are before it sets the bit, and does not look again
 *   PREV     the search never goes back when the hint has overtaken a ticket
 */

#define SLOTS 2		/* a chunk's slots */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef PUSHES
#define PUSHES 3	/* by each producer */
#endif
#define TOTAL (PRODUCERS * PUSHES)
#define CHUNKS 5	/* memory: one more than are ever in use at once */
#define NIL 15

byte tail;			/* tickets; those that were refused are not counted */
bool closed;			/* in one word with tail */
byte end;			/* of the closed queue */
byte popped;			/* the consumer's head when it is done (ghost) */
byte hint;			/* a chunk */
byte base[CHUNKS];
byte next[CHUNKS];
byte prev[CHUNKS];
byte until[CHUNKS];
byte value[CHUNKS * SLOTS];
bool ready[CHUNKS * SLOTS];
bool used[CHUNKS];		/* has been allocated */
byte order[TOTAL];		/* by ticket: the value pushed (ghost) */

inline allocate(c) {
	atomic {
		c = 0;
		do
		:: c < CHUNKS && used[c] -> c++
		:: else -> break
		od;
		assert(c < CHUNKS);
		used[c] = true;
		next[c] = NIL
	}
}

/* link appends fresh at at or behind it. What it sets in fresh is not shared yet. */
inline link(at, fresh) {
	do
	:: atomic {
		base[fresh] = base[at] + SLOTS;
		prev[fresh] = at
	   };
	   if
	   :: atomic { next[at] == NIL -> next[at] = fresh; break }
	   :: atomic { next[at] != NIL -> at = next[at] }
	   fi
	od
}

proctype producer(byte id) {
	byte i, t, c, from, fresh, at;

	do
	:: i == PUSHES -> break
	:: i < PUSHES ->
#ifdef CLOSE
		if
		:: closed -> break
		:: else
		fi;
		atomic { t = tail; order[t] = id * PUSHES + i + 1; tail++ };
#else
		atomic {
			if
			:: closed -> break
			:: else -> t = tail; order[t] = id * PUSHES + i + 1; tail++
			fi
		};
#endif
		from = hint;
		c = from;
#ifndef PREV
		do
		:: t < base[c] -> c = prev[c]; assert(c != NIL)
		:: else -> break
		od;
#endif
		do
		:: t >= base[c] + SLOTS ->
			if
			:: atomic { next[c] == NIL -> allocate(fresh); at = c };
			   link(at, fresh);
			   c = next[c]
			:: atomic { next[c] != NIL -> c = next[c] }
			fi
		:: else -> break
		od;
		if
		:: base[c] > base[from] ->
			atomic {
				if
				:: hint == from -> hint = c
				:: else
				fi
			}
		:: else
		fi;
		/* base and next of the drained chunk are stable while t is not ready */
		assert(base[c] <= t && t < base[c] + SLOTS);
		assert(!ready[c * SLOTS + t - base[c]]);
#ifdef READY
		ready[c * SLOTS + t - base[c]] = true;
		value[c * SLOTS + t - base[c]] = id * PUSHES + i + 1;
#else
		value[c * SLOTS + t - base[c]] = id * PUSHES + i + 1;
		ready[c * SLOTS + t - base[c]] = true;
#endif
		atomic { i++; t = 0; c = 0; from = 0; fresh = 0; at = 0 }
	od
}

/* Close tries until tail is what it noted before; nobody reads that earlier. */
proctype closer() {
#ifdef END
	byte t;
	t = tail;
	atomic { end = t; closed = true }
#else
	atomic { end = tail; closed = true }
#endif
}

proctype consumer() {
	byte head, chunk, oldest, n, c, at, v;

	do
	:: closed && head == end -> break
	:: !(closed && head == end) ->
		if
		:: closed && head == end		/* closed while it waits */
		:: atomic { head == base[chunk] + SLOTS && next[chunk] != NIL ->	/* advance */
				n = next[chunk]; prev[n] = NIL };
#ifdef HINT
			until[chunk] = tail;
#endif
			atomic {
				if
				:: hint == chunk -> hint = n
				:: else
				fi
			};
#ifndef HINT
			until[chunk] = tail;
#endif
			chunk = n
		:: atomic { head < base[chunk] + SLOTS && ready[chunk * SLOTS + head - base[chunk]] ->
				v = value[chunk * SLOTS + head - base[chunk]];
				assert(v == order[head]);
				value[chunk * SLOTS + head - base[chunk]] = 0;
				ready[chunk * SLOTS + head - base[chunk]] = false;
				v = 0;
				head++
			}
		fi;
		do					/* reclaim */
#ifdef RECLAIM
		:: oldest != chunk ->
#else
		:: oldest != chunk && head >= until[oldest] ->
#endif
			atomic {
				c = oldest;
				oldest = next[c];
				next[c] = NIL;
				at = chunk
			};
			link(at, c);
			atomic { c = 0; at = 0 }
		:: else -> break
		od
	od;
	popped = head
}

init {
	byte p;
	atomic {
		do
		:: p < CHUNKS -> next[p] = NIL; prev[p] = NIL; p++
		:: else -> break
		od;
		used[0] = true;
		p = 0;
		do
		:: p < PRODUCERS -> run producer(p); p++
		:: else -> break
		od;
		run closer();
		run consumer();
		p = 0
	};
	_nr_pr == 1;
	atomic {
		assert(tail == end && popped == end);
		do
		:: p < CHUNKS * SLOTS -> assert(!ready[p]); p++
		:: else -> break
		od
	}
}
