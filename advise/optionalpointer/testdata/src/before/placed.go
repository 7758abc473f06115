package before

// Parts that are made together with what holds them may be large.
type header struct{ words [60]int }

type block struct {
	header *header
	size   int
}

func newBlock(n int) *block {
	return &block{
		header: &header{words: [60]int{n}}, // want `header is an allocation of its own`
		size:   n,
	}
}

type mark struct{ kind, text string }

func marks(all ...*mark) int { return len(all) }

func emit(groups []string) int {
	n := 0
	for _, g := range groups {
		n += marks(&mark{text: g}) // want `a mark is allocated to be listed by its address`
	}
	return n
}

// Its method changes it, and is called on the element of a slice as well.
type outline struct{ points []int }

func (o *outline) add(n int) { o.points = append(o.points, n) }

func outlines(ns []int) []*outline {
	var all []*outline
	for _, n := range ns {
		all = append(all, &outline{points: []int{n}}) // want `a outline is allocated to be appended by its address; a slice of values holds it itself, where nothing else`
		all[len(all)-1].add(n)
	}
	return all
}

// One variable holds what each branch makes.
type export struct {
	kind string
	n    int
}

func exports(kinds []string) map[string]*export {
	out := map[string]*export{}
	for i, k := range kinds {
		var e *export
		switch k {
		case "func":
			e = &export{kind: k, n: i} // want `a export is allocated to be held by its address`
		default:
			e = &export{kind: "other"} // want `a export is allocated to be held by its address`
		}
		out[k] = e
	}
	return out
}

// Function literals return, too.
type item struct{ index, length int }

func builder(skip int) func(n int) *item {
	return func(n int) *item {
		if n == skip {
			return nil
		}
		return &item{index: n} // want `a item is allocated to be returned by its address`
	}
}
