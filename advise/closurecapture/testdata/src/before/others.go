//go:build go1.23

package before

var pending []func()

func submit(f func()) { pending = append(pending, f) }

func rounds(items []Item, results []Result) {
	for i := range items {
		it := items[i]
		submit(func() { results[i] = handle(it) }) // want `the function literal captures results, i, it`
	}
}

func list(open func() ([]int, error)) []int {
	var files []int
	done := make(chan bool)
	name := "x"
	name += "y"
	go func() { // want `the function literal captures name`
		println(name)
		close(done)
	}()
	<-done
	return files
}

type ranger interface{ Range(f func(int)) }

func total(r ranger) (sum int) {
	var last Item
	r.Range(func(x int) { // want `the function literal writes to sum, last`
		sum += x
		last.n = x
	})
	return sum + last.n
}
