package eventloop

import (
	"context"
	"runtime/debug"
	"sync/atomic"
)

// A Promise is a value of type T that will be known later, or the reason why
// there is none. It settles at most once and on its loop. Its reactions run as
// microtasks, in the order they were added, and take as many microtasks as in
// JavaScript. Promises belong to the loop, except for Await.
type Promise[T any] struct {
	loop      *Loop
	state     outcome
	handled   bool // somebody handles a rejection
	locked    bool // resolved, perhaps to the outcome of another promise
	value     T
	reason    error
	reactions []func()    // what to queue when it settles
	follows   *Promise[T] // the promise whose outcome it will take

	settled atomic.Pointer[chan struct{}] // what all calls of Await wait for; set by the first, closed by the loop
}

type outcome uint8

const (
	pending outcome = iota
	fulfilled
	rejected
)

// rejection is a promise of any type that may be rejected without a handler.
type rejection interface{ unhandledReason() error }

// NewPromise returns a pending promise and the functions that settle it. They
// belong to the loop: elsewhere, submit a call of them or use [Go]. As in
// JavaScript only the first call of either counts; the others return
// ErrSettled.
func NewPromise[T any](l *Loop) (p *Promise[T], resolve func(T) error, reject func(error) error) {
	p = &Promise[T]{loop: l}
	resolve = func(v T) error {
		l.mustOwn("resolve")
		if p.locked {
			return errResolve
		}
		p.fulfil(v)
		return nil
	}
	reject = func(reason error) error {
		l.mustOwn("reject")
		if p.locked {
			return errReject
		}
		p.fail(reason)
		return nil
	}
	return p, resolve, reject
}

// Resolved returns a promise fulfilled with v.
func Resolved[T any](l *Loop, v T) *Promise[T] {
	return &Promise[T]{loop: l, state: fulfilled, locked: true, value: v}
}

// Rejected returns a promise rejected with reason.
func Rejected[T any](l *Loop, reason error) *Promise[T] {
	p := &Promise[T]{loop: l}
	p.fail(reason)
	return p
}

// Go runs f on a new goroutine and returns a promise of its result. A panic of
// f rejects the promise. The promise stays pending if the loop is closed before
// f returns. Any goroutine may call Go.
func Go[T any](l *Loop, f func() (T, error)) *Promise[T] {
	p := &Promise[T]{loop: l}
	go try(errGo, f, func(v T, err error) { l.deliver(func() { p.settleWith(v, err) }) })
	return p
}

// try hands the result of f to done. The error is a PanicError if f panics, and goexit if
// it calls Goexit.
func try[T any](goexit error, f func() (T, error), done func(T, error)) {
	var v T
	err := goexit
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{r, debug.Stack()}
		}
		done(v, err)
	}()
	v, err = f()
}

func (p *Promise[T]) fulfil(v T) {
	p.locked = true
	p.settle(fulfilled, v, nil)
}

func (p *Promise[T]) fail(reason error) {
	if reason == nil {
		reason = fail("reject", ErrNilReason)
	}
	p.locked = true
	p.settle(rejected, zero[T](), reason)
}

func (p *Promise[T]) settle(state outcome, v T, reason error) {
	p.state, p.value, p.reason, p.follows = state, v, reason, nil
	for _, r := range p.reactions {
		p.loop.micro.push(r)
	}
	p.reactions = nil
	if state == rejected && !p.handled {
		p.loop.unhandled = append(p.loop.unhandled, p)
	}
}

func (p *Promise[T]) unhandledReason() error {
	if p.handled {
		return nil
	}
	return p.reason
}

// tellUnhandled reports the rejections that nobody handled.
func (l *Loop) tellUnhandled() {
	for len(l.unhandled) > 0 {
		reason := l.unhandled[0].unhandledReason()
		l.unhandled[0] = nil
		l.unhandled = l.unhandled[1:]
		if reason != nil {
			l.config.OnUnhandled(reason)
		}
	}
	l.unhandled = nil
}

// react queues a reaction for when p settles; a microtask runs it.
func (p *Promise[T]) react(onFulfilled func(T), onRejected func(error)) {
	p.loop.mustOwn("promise")
	p.handled = true
	r := func() {
		if p.state == fulfilled {
			onFulfilled(p.value)
		} else {
			onRejected(p.reason)
		}
	}
	if p.state == pending {
		p.reactions = append(p.reactions, r)
	} else {
		p.loop.micro.push(r)
	}
}

// run settles p with the result of f.
func (p *Promise[T]) run(f func() (T, error)) { try(errReaction, f, p.settleWith) }

func (p *Promise[T]) settleWith(v T, err error) {
	if err != nil {
		p.fail(err)
		return
	}
	p.fulfil(v)
}

// adopt makes p take the outcome of the promise that f returns.
func (p *Promise[T]) adopt(f func() *Promise[T]) {
	try(errReaction, func() (*Promise[T], error) { return f(), nil }, p.follow)
}

// follow makes p take the outcome of q. As in JavaScript that takes one microtask to look
// at it and another when it is settled.
func (p *Promise[T]) follow(q *Promise[T], err error) {
	switch {
	case err != nil:
		p.fail(err)
		return
	case q == nil:
		p.fail(fail("Chain", ErrNilTask))
		return
	case q.loop != p.loop:
		p.fail(fail("Chain", ErrOtherLoop))
		return
	}
	for x := q; x != nil; x = x.follows {
		if x == p {
			p.fail(fail("Chain", ErrCycle))
			return
		}
	}
	p.locked, p.follows = true, q
	p.loop.micro.push(func() {
		q.react(p.fulfil, p.fail)
	})
}

func zero[T any]() (v T) { return v }

// Then returns a promise of the result of f for p's value. If p is rejected, so
// is the promise; if f returns an error or panics, that is the reason.
func Then[T, U any](p *Promise[T], f func(T) (U, error)) *Promise[U] {
	d := &Promise[U]{loop: p.loop}
	p.react(
		func(v T) { d.run(func() (U, error) { return f(v) }) },
		d.fail,
	)
	return d
}

// Chain is Then for an f that returns a promise, whose outcome it takes. If the
// promise would wait for itself, the reason is ErrCycle.
func Chain[T, U any](p *Promise[T], f func(T) *Promise[U]) *Promise[U] {
	d := &Promise[U]{loop: p.loop}
	p.react(
		func(v T) { d.adopt(func() *Promise[U] { return f(v) }) },
		d.fail,
	)
	return d
}

// Catch returns a promise of p's value or, if p is rejected, of the result of f
// for the reason.
func (p *Promise[T]) Catch(f func(reason error) (T, error)) *Promise[T] {
	d := &Promise[T]{loop: p.loop}
	p.react(
		d.fulfil,
		func(reason error) { d.run(func() (T, error) { return f(reason) }) },
	)
	return d
}

// Finally returns a promise with p's outcome, which settles after f has run. If
// f panics, that becomes the reason for rejection.
func (p *Promise[T]) Finally(f func()) *Promise[T] {
	d := &Promise[T]{loop: p.loop}
	after := func(result func(struct{}) (T, error)) {
		d.adopt(func() *Promise[T] {
			f()
			return Then(Resolved(p.loop, struct{}{}), result)
		})
	}
	p.react(
		func(v T) { after(func(struct{}) (T, error) { return v, nil }) },
		func(reason error) { after(func(struct{}) (T, error) { return zero[T](), reason }) },
	)
	return d
}

// Await waits on another goroutine until p settles, and returns its outcome.
// The error is the reason for rejection, the cause of ctx if that ends first,
// ErrClosed if the loop ends with p pending, or ErrReentrant on the loop.
func (p *Promise[T]) Await(ctx context.Context) (T, error) {
	l := p.loop
	if l.onLoop() {
		return zero[T](), fail("Await", ErrReentrant)
	}
	if fresh := make(chan struct{}); p.settled.CompareAndSwap(nil, &fresh) {
		look := func() { p.react(func(T) { close(fresh) }, func(error) { close(fresh) }) }
		l.deliver(look) // if the loop is closed, done reports its end
	}
	select {
	case <-*p.settled.Load():
	case <-ctx.Done():
		return zero[T](), fail("Await", context.Cause(ctx))
	case <-l.done:
	}
	// It is settled for good, or the loop no longer runs: its state may be read.
	switch p.state {
	case fulfilled:
		return p.value, nil
	case rejected:
		return zero[T](), p.reason
	}
	return zero[T](), fail("Await", ErrClosed)
}
