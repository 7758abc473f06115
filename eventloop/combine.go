package eventloop

import (
	"errors"
	"fmt"
)

// All returns a promise of all values, in the order of the promises. It is
// rejected as soon as one of them is. All promises must belong to l.
func All[T any](l *Loop, promises ...*Promise[T]) *Promise[[]T] {
	d, resolve, reject := NewPromise[[]T](l)
	values, left := make([]T, len(promises)), len(promises)
	if left == 0 {
		resolve(values)
	}
	for i, p := range promises {
		l.own("All", p.loop)
		p.react(func(v T) {
			values[i] = v
			if left--; left == 0 {
				resolve(values)
			}
		}, func(r error) { reject(r) })
	}
	return d
}

// Settled is the outcome of a promise: a value, or a reason that is not nil.
type Settled[T any] struct {
	Value  T
	Reason error
}

// AllSettled returns a promise of all outcomes, in the order of the promises.
func AllSettled[T any](l *Loop, promises ...*Promise[T]) *Promise[[]Settled[T]] {
	d, resolve, _ := NewPromise[[]Settled[T]](l)
	outcomes, left := make([]Settled[T], len(promises)), len(promises)
	if left == 0 {
		resolve(outcomes)
	}
	for i, p := range promises {
		l.own("AllSettled", p.loop)
		set := func(s Settled[T]) {
			outcomes[i] = s
			if left--; left == 0 {
				resolve(outcomes)
			}
		}
		p.react(func(v T) { set(Settled[T]{Value: v}) }, func(r error) { set(Settled[T]{Reason: r}) })
	}
	return d
}

// Race returns a promise that takes the outcome of the first promise to settle.
// With no promises it stays pending.
func Race[T any](l *Loop, promises ...*Promise[T]) *Promise[T] {
	d, resolve, reject := NewPromise[T](l)
	for _, p := range promises {
		l.own("Race", p.loop)
		p.react(func(v T) { resolve(v) }, func(r error) { reject(r) })
	}
	return d
}

// Any returns a promise of the value of the first promise to be fulfilled. If
// none is, the reason wraps ErrNoPromise and all reasons, in order.
func Any[T any](l *Loop, promises ...*Promise[T]) *Promise[T] {
	d, resolve, reject := NewPromise[T](l)
	reasons, left := make([]error, len(promises)), len(promises)
	if left == 0 {
		reject(fail("Any", ErrNoPromise))
	}
	for i, p := range promises {
		l.own("Any", p.loop)
		p.react(func(v T) { resolve(v) }, func(r error) {
			reasons[i] = r
			if left--; left == 0 {
				reject(fmt.Errorf("eventloop: Any: %w: %w", ErrNoPromise, errors.Join(reasons...)))
			}
		})
	}
	return d
}

// own panics if a promise belongs to another loop.
func (l *Loop) own(operation string, other *Loop) {
	if other != l {
		panic(fail(operation, ErrOtherLoop))
	}
}
