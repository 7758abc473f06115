package planted

import "testing"

func BenchmarkDies(b *testing.B) {
	for b.Loop() {
		Dies(1000)
	}
}
func BenchmarkOuter(b *testing.B) {
	for b.Loop() {
		Outer(1000)
	}
}
func BenchmarkRounds(b *testing.B) {
	for i := 0; i < b.N; i++ {
		Rounds(1000)
	}
}
func BenchmarkSeveral(b *testing.B) {
	for b.Loop() {
		Several(1000)
	}
}
func BenchmarkReturns(b *testing.B) {
	for b.Loop() {
		sink += len(Returns(1000).name)
	}
}
func BenchmarkKeep(b *testing.B) {
	t := &T{}
	for b.Loop() {
		t.Keep(1000)
	}
}
func BenchmarkEnter(b *testing.B) {
	t := &T{all: map[int]*record{}}
	for i := 0; i < b.N; i++ {
		t.Enter(i)
	}
}
func BenchmarkLink(b *testing.B) {
	t := &T{}
	for i := 0; i < b.N; i++ {
		t.Link()
	}
}
func BenchmarkSend(b *testing.B) {
	t := &T{ch: make(chan *record, 1000)}
	for i := 0; i < b.N; i++ {
		t.Send()
		if i%1000 == 999 {
			for len(t.ch) > 0 {
				<-t.ch
			}
		}
	}
}
func BenchmarkGlobal(b *testing.B) {
	for b.Loop() {
		Global(1000)
	}
}
func BenchmarkPooled(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			Pooled()
		}
	})
}
func BenchmarkGoes(b *testing.B) {
	wait := make(chan bool)
	for i := 0; i < b.N; i++ {
		Goes(wait, 1000)
		wait <- true
	}
}

func BenchmarkGeneric(b *testing.B) {
	for b.Loop() {
		sink += Generic[int64](1000) + Generic[*int](1000)
	}
}
func BenchmarkTree(b *testing.B) {
	for b.Loop() {
		sink += len(Tree(4).data)
	}
}
func BenchmarkRecovers(b *testing.B) {
	for b.Loop() {
		Recovers(1000)
	}
}
func BenchmarkNamed(b *testing.B) {
	for b.Loop() {
		x, _ := Named(1000)
		sink += len(x)
	}
}
func BenchmarkShadow(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			Shadow(1000, true, 1, 2)
		}
	})
}
func BenchmarkLocal(b *testing.B) {
	for b.Loop() {
		sink += Local(1000)
	}
}
func BenchmarkCaptured(b *testing.B) {
	for b.Loop() {
		sink += Captured(1000)
	}
}
func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		sink += Build()
	}
}
func BenchmarkBox(b *testing.B) {
	t := &T{}
	for b.Loop() {
		t.Box(10)
	}
}
func BenchmarkPrepared(b *testing.B) {
	t := &T{all: map[int]*record{}}
	for i := range 50 {
		Prepared(t, i)
	}
	for b.Loop() {
		Prepared(t, -1)
	}
}
