package heap

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestPage builds a page with everything that it can contain, including hostile names. The
// browser tests use it: ISOBAR_HEAP_PAGE names the file to write.
func TestPage(t *testing.T) {
	const hostile = `<script>document.title="owned"</script>` + "\u202e\x1b[31m"
	r := sample(1 << 20)
	r.Program += hostile
	r.Tree.Children[1].Label += hostile
	r.Types[0].Name += hostile
	r.Goroutines = []Goroutines{{Start: "main.work" + hostile, In: "net.(*conn).Read",
		Wait: "chan receive", Forever: true, Longest: 3e9, Count: 12, Stacks: 49152}}
	r.Ledger = &Ledger{RSS: 3 << 20, Lines: []Line{{Class: "heap: live objects", Bytes: 2 << 20, Remedy: "hold less"}},
		Beside: []Line{{Class: "swapped out", Bytes: 1 << 20}}}
	r.Stop, r.Copied = 688234567, 1<<20
	r.Warnings = []string{"a warning" + hostile}
	var b bytes.Buffer
	if err := r.Page(&b, View{Lines: 5, Share: 0.001}, "test"); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	for _, want := range []string{
		`<th scope="row">main.server.sessions</th><td class="text why">map[int]*main.Session;`,
		`<td>1.00 MiB</td><td>100 %</td>`, "mostly [] main.Session. Remedy: bound it, if it grows",
		`<svg class="flame"`, "Live bytes by area", "[] main.Session, 1023 KiB", "main.work",
		"chan receive, for 3.00 s or longer: for ever",
		"12 goroutines can never be woken", "hold less", "beside it: swapped out", "a warning", "for 688 ms, to copy 1.00 MiB",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, not := range []string{"<script", "\u202e", "\x1b", "https://", "http://"} {
		if strings.Contains(html, not) {
			t.Errorf("the page holds %q", not)
		}
	}
	if name := os.Getenv("ISOBAR_HEAP_PAGE"); name != "" {
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIcicleDrawsEachByteOnce: boxes hold no more than the box above, and shared ones
// state what their path retains.
func TestIcicleDrawsEachByteOnce(t *testing.T) {
	r := sample(1 << 20)
	r.Tree.Children[1].Retained = 64
	parts := r.parts(r.Tree, 1)
	sum := 0.0
	for _, f := range parts {
		sum += f.Value
	}
	if sum != float64(r.Live) {
		t.Errorf("the roots have %.0f bytes of %d", sum, r.Live)
	}
	if shared := parts[1].Text; shared != "4.88 KiB, retains 64.0 B" {
		t.Errorf("what others hold, too, reads %q", shared)
	}
	if (&Report{Tree: &Node{}}).icicle() != nil {
		t.Error("a heap with nothing live has a drawing")
	}
}

// TestSmallHoldersShareAColour: the legend names the colour of those that have none of their own.
func TestSmallHoldersShareAColour(t *testing.T) {
	r := sample(1 << 20)
	for i := range icicleColours + 3 {
		r.Tree.Children = append(r.Tree.Children, &Node{Label: fmt.Sprintf("main.v%d", i), Reached: 1 << 12, Retained: 1 << 12})
	}
	legend := r.icicle().Legend
	if n := len(legend); n != icicleColours+1 || legend[n-1].Name != "all others" {
		t.Errorf("%d colours, the last is %q", n, legend[n-1].Name)
	}
}
