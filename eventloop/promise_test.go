package eventloop

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// onLoop runs f as a task and returns when everything that follows from it is done.
func onLoop(t *testing.T, c Config, f func(l *Loop)) {
	t.Helper()
	drained(t, c, func(l *Loop) { l.Submit(func() { f(l) }) })
}

// The expected orders are what Node.js prints for the programs quoted in the comments.
func TestOrderIsThatOfJavaScript(t *testing.T) {
	type env struct {
		l   *Loop
		say func(string)
	}
	then := func(e env, p *Promise[int], s string) *Promise[int] {
		return Then(p, func(v int) (int, error) { e.say(s); return v, nil })
	}
	for _, test := range []struct {
		name, want string
		run        func(e env)
	}{
		{
			// Promise.resolve().then(()=>log('p1')); process.nextTick(()=>log('t1'));
			// queueMicrotask(()=>{log('m1'); process.nextTick(()=>log('t2')); queueMicrotask(()=>log('m2'))});
			// process.nextTick(()=>{log('t3'); queueMicrotask(()=>log('m3')); process.nextTick(()=>log('t4'))}); log('sync')
			"ticks and microtasks", "sync t1 t3 t4 p1 m1 m3 m2 t2",
			func(e env) {
				then(e, Resolved(e.l, 0), "p1")
				e.l.NextTick(func() { e.say("t1") })
				e.l.QueueMicrotask(func() {
					e.say("m1")
					e.l.NextTick(func() { e.say("t2") })
					e.l.QueueMicrotask(func() { e.say("m2") })
				})
				e.l.NextTick(func() {
					e.say("t3")
					e.l.QueueMicrotask(func() { e.say("m3") })
					e.l.NextTick(func() { e.say("t4") })
				})
				e.say("sync")
			},
		},
		{
			// Promise.resolve().then(()=>log(1)).then(()=>log(2)).then(()=>log(3));
			// Promise.resolve().then(()=>log('a')).then(()=>log('b')).then(()=>log('c'))
			"chains take turns", "1 a 2 b 3 c",
			func(e env) {
				then(e, then(e, then(e, Resolved(e.l, 0), "1"), "2"), "3")
				then(e, then(e, then(e, Resolved(e.l, 0), "a"), "b"), "c")
			},
		},
		{
			// Promise.resolve().then(()=>{log(0); return Promise.resolve(4)}).then(()=>log(4));
			// Promise.resolve().then(()=>log(1)).then(()=>log(2)).then(()=>log(3)).then(()=>log(5)).then(()=>log(6))
			"a returned promise takes two microtasks more", "0 1 2 3 4 5 6",
			func(e env) {
				then(e, Chain(Resolved(e.l, 0), func(int) *Promise[int] { e.say("0"); return Resolved(e.l, 4) }), "4")
				then(e, then(e, then(e, then(e, then(e, Resolved(e.l, 0), "1"), "2"), "3"), "5"), "6")
			},
		},
		{
			// Promise.resolve().finally(()=>log('f')).then(()=>log('after'));
			// Promise.resolve().then(()=>log(1)).then(()=>log(2)).then(()=>log(3)).then(()=>log(4)).then(()=>log(5)).then(()=>log(6))
			"finally", "f 1 2 3 after 4 5 6",
			func(e env) {
				then(e, Resolved(e.l, 0).Finally(func() { e.say("f") }), "after")
				then(e, then(e, then(e, then(e, then(e, then(e, Resolved(e.l, 0), "1"), "2"), "3"), "4"), "5"), "6")
			},
		},
		{
			// let res; const p = new Promise(r=>res=r); p.then(()=>log('x')); queueMicrotask(()=>log('m'));
			// res(); res(); p.then(()=>log('y')); log('sync')
			"resolve queues, and once", "sync m x y",
			func(e env) {
				p, resolve, reject := NewPromise[int](e.l)
				then(e, p, "x")
				e.l.QueueMicrotask(func() { e.say("m") })
				resolve(1)
				resolve(2)
				reject(errors.New("late"))
				then(e, p, "y")
				e.say("sync")
			},
		},
		{
			// setTimeout(()=>{log('T1'); Promise.resolve().then(()=>log('p')); process.nextTick(()=>log('t'))}); setTimeout(()=>log('T2'))
			"between timers", "T1 t p T2 end",
			func(e env) {
				e.l.After(0, func() {
					e.say("T1")
					then(e, Resolved(e.l, 0), "p")
					e.l.NextTick(func() { e.say("t") })
				})
				e.l.After(0, func() {
					e.say("T2")
					e.l.Submit(func() { e.say("end") })
				})
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []string
				l := mustNew(t, Config{})
				startLoop(t, l)
				l.Submit(func() { test.run(env{l, func(s string) { got = append(got, s) }}) })
				synctest.Wait()
				if s := strings.Join(got, " "); s != test.want {
					t.Errorf("got  %s\nwant %s", s, test.want)
				}
			})
		})
	}
}

func TestPromiseOutcomes(t *testing.T) {
	bad, worse := errors.New("bad"), errors.New("worse")
	for _, test := range []struct {
		name   string
		make   func(l *Loop) *Promise[string]
		want   string
		reason error
	}{
		{"then", func(l *Loop) *Promise[string] {
			return Then(Resolved(l, 7), func(v int) (string, error) { return fmt.Sprint(v), nil })
		}, "7", nil},
		{"then fails", func(l *Loop) *Promise[string] {
			return Then(Resolved(l, 7), func(int) (string, error) { return "", bad })
		}, "", bad},
		{"then is skipped", func(l *Loop) *Promise[string] {
			return Then(Rejected[int](l, bad), func(int) (string, error) { return "ran", worse })
		}, "", bad},
		{"then panics", func(l *Loop) *Promise[string] {
			return Then(Resolved(l, 7), func(int) (string, error) { panic(bad) })
		}, "", bad},
		{"then exits", func(l *Loop) *Promise[string] {
			return Then(Resolved(l, 7), func(int) (string, error) { runtime.Goexit(); return "", nil })
		}, "", ErrGoexit},
		{"catch", func(l *Loop) *Promise[string] {
			return Rejected[string](l, bad).Catch(func(err error) (string, error) { return "was " + err.Error(), nil })
		}, "was bad", nil},
		{"catch is skipped", func(l *Loop) *Promise[string] {
			return Resolved(l, "fine").Catch(func(error) (string, error) { return "", worse })
		}, "fine", nil},
		{"finally", func(l *Loop) *Promise[string] { return Resolved(l, "fine").Finally(func() {}) }, "fine", nil},
		{"finally keeps the reason", func(l *Loop) *Promise[string] { return Rejected[string](l, bad).Finally(func() {}) }, "", bad},
		{"finally panics", func(l *Loop) *Promise[string] { return Resolved(l, "fine").Finally(func() { panic(worse) }) }, "", worse},
		{"nil reason", func(l *Loop) *Promise[string] { return Rejected[string](l, nil) }, "", ErrNilReason},
		{"chain", func(l *Loop) *Promise[string] {
			return Chain(Resolved(l, 1), func(int) *Promise[string] {
				return Chain(Resolved(l, 2), func(int) *Promise[string] { return Resolved(l, "deep") })
			})
		}, "deep", nil},
		{"chain to nothing", func(l *Loop) *Promise[string] {
			return Chain(Resolved(l, 1), func(int) *Promise[string] { return nil })
		}, "", ErrNilTask},
		{"chain to itself", func(l *Loop) (p *Promise[string]) {
			p = Chain(Resolved(l, 1), func(int) *Promise[string] { return p })
			return p
		}, "", ErrCycle},
		{"chain in a circle", func(l *Loop) *Promise[string] {
			var a, b, c *Promise[string]
			a = Chain(Resolved(l, 1), func(int) *Promise[string] { return b })
			b = Chain(Resolved(l, 1), func(int) *Promise[string] { return c })
			c = Chain(Resolved(l, 1), func(int) *Promise[string] { return a })
			return a
		}, "", ErrCycle},
		{"chain to another loop", func(l *Loop) *Promise[string] {
			other, _ := New(Config{})
			return Chain(Resolved(l, 1), func(int) *Promise[string] { return Resolved(other, "x") })
		}, "", ErrOtherLoop},
		{"all", func(l *Loop) *Promise[string] {
			late, resolve, _ := NewPromise[string](l)
			l.Submit(func() { resolve("a") })
			return Then(All(l, late, Resolved(l, "b")), join)
		}, "a+b", nil},
		{"all of none", func(l *Loop) *Promise[string] { return Then(All[string](l), join) }, "", nil},
		{"all fail", func(l *Loop) *Promise[string] {
			return Then(All(l, Resolved(l, "a"), Rejected[string](l, bad), Rejected[string](l, worse)), join)
		}, "", bad},
		{"all settled", func(l *Loop) *Promise[string] {
			return Then(AllSettled(l, Resolved(l, "a"), Rejected[string](l, bad)), func(s []Settled[string]) (string, error) {
				return fmt.Sprint(s), nil
			})
		}, "[{a <nil>} { bad}]", nil},
		{"race", func(l *Loop) *Promise[string] {
			late, _, _ := NewPromise[string](l)
			return Race(l, late, Resolved(l, "b"), Rejected[string](l, bad))
		}, "b", nil},
		{"race lost", func(l *Loop) *Promise[string] { return Race(l, Rejected[string](l, bad), Resolved(l, "b")) }, "", bad},
		{"any", func(l *Loop) *Promise[string] { return Any(l, Rejected[string](l, bad), Resolved(l, "b")) }, "b", nil},
		{"any of none", func(l *Loop) *Promise[string] { return Any[string](l) }, "", ErrNoPromise},
		{"any lost", func(l *Loop) *Promise[string] { return Any(l, Rejected[string](l, bad), Rejected[string](l, worse)) }, "", worse},
		{"go", func(l *Loop) *Promise[string] { return Go(l, func() (string, error) { return "went", nil }) }, "went", nil},
		{"go fails", func(l *Loop) *Promise[string] { return Go(l, func() (string, error) { return "", bad }) }, "", bad},
		{"go panics", func(l *Loop) *Promise[string] { return Go(l, func() (string, error) { panic(bad) }) }, "", bad},
		{"go exits", func(l *Loop) *Promise[string] {
			return Go(l, func() (string, error) { runtime.Goexit(); return "", nil })
		}, "", ErrGoexit},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := mustNew(t, Config{
				OnPanic:     func(v any, _ []byte) { t.Log("reported:", v) },
				OnUnhandled: func(err error) { t.Log("unhandled:", err) },
			})
			go l.Run(context.Background())
			defer l.Close()
			made := make(chan *Promise[string])
			if err := l.Submit(func() { p := test.make(l); p.handled = true; made <- p }); err != nil {
				t.Fatal(err)
			}
			v, err := (<-made).Await(context.Background())
			if v != test.want || !errors.Is(err, test.reason) || (err == nil) != (test.reason == nil) {
				t.Errorf("got %q, %v; want %q, %v", v, err, test.want, test.reason)
			}
		})
	}
}

func join(s []string) (string, error) { return strings.Join(s, "+"), nil }

func TestUnhandledRejections(t *testing.T) {
	var got []string
	reason := func(s string) error { return errors.New(s) }
	onLoop(t, Config{OnUnhandled: func(err error) { got = append(got, err.Error()) }}, func(l *Loop) {
		Rejected[int](l, reason("nobody"))
		handled := Rejected[int](l, reason("handled in a microtask"))
		l.QueueMicrotask(func() { handled.Catch(func(error) (int, error) { return 0, nil }) })
		Then(Rejected[int](l, reason("passed on")), func(int) (int, error) { return 0, nil })
		p, _, reject := NewPromise[int](l)
		p.Catch(func(error) (int, error) { return 0, nil })
		reject(reason("handled before"))
		Chain(Resolved(l, 1), func(int) *Promise[int] { return Rejected[int](l, reason("adopted")) })
	})
	if want := []string{"nobody", "passed on", "adopted"}; !slices.Equal(got, want) {
		t.Errorf("told of %q, want %q", got, want)
	}
}

func TestAwaitEndsWithContextAndLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{Limit: 1})
		p, resolve, _ := NewPromise[int](l)
		end := make(chan error)
		go func() { end <- l.Run(context.Background()) }()
		ctx, cancel := context.WithCancel(context.Background())
		got := make(chan error)
		await := func(ctx context.Context) { _, err := p.Await(ctx); got <- err }
		go await(ctx)
		synctest.Wait()
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("Await: %v", err)
		}
		go await(context.Background())
		synctest.Wait()
		l.Close()
		if err := <-got; !errors.Is(err, ErrClosed) {
			t.Errorf("Await: %v", err)
		}
		if err := <-end; err != nil {
			t.Error(err)
		}
		resolve(5)
		if v, err := p.Await(context.Background()); v != 5 || err != nil {
			t.Errorf("Await after the end: %d, %v", v, err)
		}
		if _, err := Rejected[int](l, ErrNilTask).Await(context.Background()); err != ErrNilTask {
			t.Errorf("Await after the end: %v", err)
		}
	})
}

// TestAwaitLeavesNothing: calls that gave up are not kept until the promise
// settles, which may be never.
func TestAwaitLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{})
		p, resolve, _ := NewPromise[int](l)
		go l.Run(t.Context())
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := p.Await(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Await: %v", err)
			}
			cancel()
		}
		if err := l.Submit(func() {
			if n := len(p.reactions); n > 1 {
				t.Errorf("%d reactions are kept", n)
			}
			resolve(7)
		}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if v, err := p.Await(t.Context()); v != 7 || err != nil {
				t.Errorf("Await: %d, %v", v, err)
			}
		}
		l.Close()
	})
}

func TestPromiseSettlesOnce(t *testing.T) {
	onLoop(t, Config{}, func(l *Loop) {
		for name, first := range map[string]bool{"resolved": true, "rejected": false} {
			p, resolve, reject := NewPromise[int](l)
			p.Catch(func(error) (int, error) { return 0, nil })
			settle := func() error { return reject(ErrNilTask) }
			if first {
				settle = func() error { return resolve(1) }
			}
			if err := settle(); err != nil {
				t.Errorf("%s: the first call returned %v", name, err)
			}
			was := p.state
			if err := resolve(2); !errors.Is(err, ErrSettled) {
				t.Errorf("%s, then resolved: %v, want ErrSettled", name, err)
			}
			if err := reject(ErrClosed); !errors.Is(err, ErrSettled) {
				t.Errorf("%s, then rejected: %v, want ErrSettled", name, err)
			}
			if p.state != was || first && p.value != 1 || !first && p.reason != ErrNilTask {
				t.Errorf("%s: a later call changed the outcome to %v, %v, %v", name, p.state, p.value, p.reason)
			}
		}
	})
}
