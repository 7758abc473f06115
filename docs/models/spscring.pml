/* The bounded ring for one producer of package queue (spscring.go).
 *
 * Indexes are bytes that wrap around within a run. Each side works with the
 * value of the other's index that it saw last.
 *
 * Checked: every value comes out once and in order; no slot is written before
 * it was emptied; full means full and empty means empty at the moment of the
 * decision; no deadlock.
 *
 * Faults that must be found (spin -D...):
 *   PUBLISH  tail is stored before the value
 *   RELEASE  head is stored before the slot is emptied
 *   FULL     a push takes a ring with one slot more than the capacity for free
 */

#define SLOTS 4
#ifdef FULL
#define CAPACITY 5
#else
#define CAPACITY 4
#endif
#ifndef TOTAL
#define TOTAL 9
#endif
#define START 252
#define DISTANCE(to, from) (((to) - (from) + 256) & 255)

byte tail = START;
byte head = START;
byte value[SLOTS];

active proctype producer() {
	byte seen = START, i;

	do
	:: i == TOTAL -> break
	:: i < TOTAL ->
		if
		:: DISTANCE(tail, seen) == CAPACITY ->
			atomic {
				seen = head;
				if
				:: DISTANCE(tail, seen) == CAPACITY -> assert(DISTANCE(tail, head) == CAPACITY); goto again
				:: else
				fi
			}
		:: else
		fi;
#ifdef PUBLISH
		tail = (tail + 1) & 255;
		value[DISTANCE(tail, 1) % SLOTS] = i + 1;
#else
		assert(value[tail % SLOTS] == 0);
		value[tail % SLOTS] = i + 1;
		tail = (tail + 1) & 255;
#endif
		i++;
again:		skip
	od
}

active proctype consumer() {
	byte seen = START, n;

	do
	:: n == TOTAL -> break
	:: n < TOTAL ->
		if
		:: head == seen ->
			atomic {
				seen = tail;
				if
				:: head == seen -> assert(head == tail); goto again
				:: else
				fi
			}
		:: else
		fi;
		assert(value[head % SLOTS] == n + 1);
#ifdef RELEASE
		head = (head + 1) & 255;
		value[DISTANCE(head, 1) % SLOTS] = 0;
#else
		value[head % SLOTS] = 0;
		head = (head + 1) & 255;
#endif
		n++;
again:		skip
	od;
	assert(head == tail)
}
