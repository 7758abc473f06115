package show_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/showtest"
	"github.com/isobar-go/isobar/internal/show/text"
)

func TestHeatMap(t *testing.T) {
	var shown bytes.Buffer
	if err := page.Write(&shown, page.Run{Meta: text.Meta{Title: "scaling"}}, showtest.ScalingStudy(t, []string{"1", "2", "16"}, []string{"default", "off", "400"})); err != nil {
		t.Fatal(err)
	}
	got := shown.String()
	for _, want := range []string{"Goroutines × GC setting", "profile=json throughput", "profile=trees for each goroutine", ">100</text>", ">11</text>", `class="heat-9"`, `class="heat-0"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
