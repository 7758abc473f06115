package http11

import (
	"strings"
	"testing"
)

func TestModesHaveNames(t *testing.T) {
	all := MemoryModes()
	if all[0] != Pooled || Pooled != 0 {
		t.Errorf("the first mode is %v, want Pooled as the zero value", all[0])
	}
	_, unknown := ParseMemoryMode("none")
	for _, mode := range all {
		info := mode.Info()
		if got, err := ParseMemoryMode(mode.String()); got != mode || err != nil {
			t.Errorf("%v is parsed as %v, %v", mode, got, err)
		}
		if info.Name != mode.String() || info.Summary == "" || strings.Contains(info.Summary, "\n") {
			t.Errorf("%v is described by %+v", mode, info)
		}
		if unknown == nil || !strings.Contains(unknown.Error(), info.Name) {
			t.Errorf("the error for an unknown name is %v, want one that names %v", unknown, mode)
		}
	}
	if got := MemoryMode(255).String(); got != "MemoryMode(255)" {
		t.Errorf("a mode that nobody registered is called %s", got)
	}
}

func TestModesRegisterOnce(t *testing.T) {
	mustPanic(t, func() { register(Slab, mode{ModeInfo: ModeInfo{Name: "other"}}) }, "slab and other both have number 1")
	mustPanic(t, func() { register(255, mode{ModeInfo: ModeInfo{Name: "slab"}}) }, "both named slab")
}
