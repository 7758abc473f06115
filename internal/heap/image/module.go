package image

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"sort"

	"github.com/isobar-go/isobar/internal/heap/target"
)

// A Module is the runtime.moduledata of an executable or plugin.
type Module struct {
	Text, EndText   uint64
	Data, EndData   uint64
	BSS, EndBSS     uint64
	Types, EndTypes uint64

	noPtrBSS, endNoPtrBSS uint64
	search                []byte // what variables was read into
	rodata, gofunc        uint64
	dataMask, bssMask     []byte
	names, pctab, pcln    []byte
	ftab                  []byte
	next                  uint64
}

// errRuntime is wrapped in errors if the runtime's structures are not where they should be.
var errRuntime = errors.New("the runtime's structures were not found")

// readModules finds the first module by its pointer to the line table, and follows the list.
func (im *Image) readModules() error {
	at, err := im.firstModule()
	if err != nil {
		return err
	}
	for seen := make(map[uint64]bool); at != 0; {
		if seen[at] {
			return fmt.Errorf("image: %w: the list of modules does not end", errRuntime)
		}
		seen[at] = true
		m, err := im.readModule(at)
		if err != nil {
			return err
		}
		im.Modules = append(im.Modules, m)
		at = m.next
	}
	return nil
}

func (im *Image) firstModule() (uint64, error) {
	p := im.Program
	if at := p.Symbol("runtime.firstmoduledata"); at != 0 {
		return at, nil
	}
	var lines *elf.Section
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if lines = p.ELF.Section(name); lines != nil {
			break
		}
	}
	if lines == nil {
		return 0, fmt.Errorf("image: %s has no section .gopclntab: %w", p.Path, errRuntime)
	}
	size := im.Facts["runtime.moduledata#"]
	for _, name := range []string{".go.module", ".noptrdata", ".data", ".data.rel.ro"} {
		s := p.ELF.Section(name)
		if s == nil {
			continue
		}
		b, ok := im.Read(s.Addr+p.Bias, s.Size)
		if !ok {
			continue
		}
		for o := uint64(0); o+size <= uint64(len(b)); o += 8 {
			if le.Uint64(b[o:]) != lines.Addr+p.Bias {
				continue
			}
			text := le.Uint64(b[o+im.Facts["runtime.moduledata.text"]:])
			if min := le.Uint64(b[o+im.Facts["runtime.moduledata.minpc"]:]); min >= text && text != 0 {
				return s.Addr + p.Bias + o, nil
			}
		}
	}
	return 0, fmt.Errorf("image: runtime.firstmoduledata: %w", errRuntime)
}

func (im *Image) readModule(at uint64) (Module, error) {
	b, ok := im.Read(at, im.Facts["runtime.moduledata#"])
	if !ok {
		return Module{}, fmt.Errorf("image: moduledata at %#x cannot be read", at)
	}
	word := func(name string, more uint64) uint64 { return le.Uint64(b[im.Facts["runtime.moduledata."+name]+more:]) }
	m := Module{
		Text: word("text", 0), EndText: word("etext", 0), Data: word("data", 0), EndData: word("edata", 0),
		BSS: word("bss", 0), EndBSS: word("ebss", 0), Types: word("types", 0), EndTypes: word("etypes", 0),
		noPtrBSS: word("noptrbss", 0), endNoPtrBSS: word("enoptrbss", 0),
		rodata: word("rodata", 0), gofunc: word("gofunc", 0), next: word("next", 0),
	}
	slice := func(name string, size uint64) []byte {
		n := word(name, 8) * size
		s, ok2 := im.Read(word(name, 0), n)
		ok = ok && ok2 && n < 1<<32
		return s
	}
	m.names, m.pctab, m.pcln = slice("funcnametab", 1), slice("pctab", 1), slice("pclntable", 1)
	m.ftab = slice("ftab", 8)
	mask := func(name string) []byte {
		bits := uint64(uint32(word(name, 0)))
		s, ok2 := im.Read(word(name, 8), (bits+7)/8)
		ok = ok && ok2
		return s
	}
	m.dataMask, m.bssMask = mask("gcdatamask"), mask("gcbssmask")
	if !ok || m.EndData-m.Data >= 1<<32 || m.EndBSS-m.BSS >= 1<<32 || m.EndText <= m.Text {
		return m, fmt.Errorf("image: moduledata at %#x: %w", at, errRuntime)
	}
	return m, nil
}

// TypeBase returns the start of the types of the module that contains a descriptor, or 0.
func (im *Image) TypeBase(addr uint64) uint64 {
	for i := range im.Modules {
		if m := &im.Modules[i]; addr >= m.Types && addr < m.EndTypes {
			return m.Types
		}
	}
	return 0
}

// Descriptors returns the blocks of memory that have type descriptors and their names.
func (im *Image) Descriptors() [][2]uint64 {
	var parts [][2]uint64
	for i := range im.Modules {
		parts = append(parts, [2]uint64{im.Modules[i].Types, im.Modules[i].EndTypes})
	}
	return parts
}

// IsType reports whether a type descriptor may be at addr. Descriptors are aligned.
func (im *Image) IsType(addr uint64) bool { return addr%8 == 0 && im.TypeBase(addr) != 0 }

// findHeap returns the address of runtime.mheap_: by symbol, or where the central
// lists have the span classes in order.
func (im *Image) findHeap() (uint64, error) {
	if at := im.Program.Symbol("runtime.mheap_"); at != 0 {
		return at, nil
	}
	first := im.Facts["runtime.mheap.central"] + im.Facts["runtime.mcentral.spanclass"]
	stride, size := im.Facts["runtime.mheap.central[]"], im.Facts["runtime.mheap#"]
	for _, part := range im.uninitialized() {
		b := part.data
	candidate:
		for o := uint64(0); o+size <= uint64(len(b)); o += 8 {
			for class := range uint64(136) {
				if b[o+first+class*stride] != byte(class) {
					continue candidate
				}
			}
			return part.addr + o, nil
		}
	}
	return 0, fmt.Errorf("image: runtime.mheap_: %w", errRuntime)
}

// uninitialized returns the globals without an initial value, with their current bytes.
func (im *Image) uninitialized() []block {
	var parts []block
	for i := range im.Modules {
		m := &im.Modules[i]
		parts = append(parts, block{addr: m.noPtrBSS, data: im.variables(m)})
		if b, ok := im.Read(m.BSS, m.EndBSS-m.BSS); ok {
			parts = append(parts, block{addr: m.BSS, data: b})
		}
	}
	return parts
}

// variables returns the current bytes of a module's variables without pointers and initial values,
// which can be large: they are read into the same memory each time.
func (im *Image) variables(m *Module) []byte {
	if size := m.endNoPtrBSS - m.noPtrBSS; m.search == nil && size < 1<<28 {
		m.search = make([]byte, size)
	}
	if im.mem == nil || im.mem.Read([]target.Range{{Addr: m.noPtrBSS, Data: m.search}}) != nil {
		return nil
	}
	return m.search
}

// findGoroutines returns the address of runtime.allgs: by symbol, or as the slice whose elements
// look like goroutines, the first with ID 1.
func (im *Image) findGoroutines() (uint64, error) {
	if at := im.Program.Symbol("runtime.allgs"); at != 0 {
		return at, nil
	}
	for _, part := range im.uninitialized() {
		b := part.data
		for o := uint64(0); o+24 <= uint64(len(b)); o += 8 {
			p, n, limit := le.Uint64(b[o:]), le.Uint64(b[o+8:]), le.Uint64(b[o+16:])
			if p == 0 || p%8 != 0 || n == 0 || n > limit || limit > 1<<28 || !im.looksLikeGoroutines(p, min(n, 4)) {
				continue
			}
			return part.addr + o, nil
		}
	}
	return 0, fmt.Errorf("image: runtime.allgs: %w", errRuntime)
}

func (im *Image) looksLikeGoroutines(addr, n uint64) bool {
	list, ok := im.Read(addr, 8*n)
	if !ok {
		return false
	}
	f := im.Facts
	for i := range n {
		p := le.Uint64(list[8*i:])
		if p == 0 || p%8 != 0 {
			return false
		}
		g, ok := im.Read(p, f["runtime.g#"])
		if !ok {
			return false
		}
		lo, hi := le.Uint64(g[f["runtime.g.stack"]:]), le.Uint64(g[f["runtime.g.stack"]+8:])
		id, status := le.Uint64(g[f["runtime.g.goid"]:]), le.Uint32(g[f["runtime.g.atomicstatus"]:])&^0x1000
		if i == 0 && id != 1 || id == 0 || id > 1<<40 || status > 12 || hi < lo || hi-lo > 1<<30 {
			return false
		}
	}
	return true
}

// A frameFunc is a function of the line table.
type frameFunc struct {
	m     *Module
	entry uint64
	info  []byte // runtime._func and the following bytes
}

// function returns the function that contains a program counter.
func (im *Image) function(pc uint64) (frameFunc, bool) {
	for i := range im.Modules {
		m := &im.Modules[i]
		if pc < m.Text || pc >= m.EndText {
			continue
		}
		n := len(m.ftab)/8 - 1
		off := uint32(pc - m.Text)
		j := sort.Search(n, func(j int) bool { return le.Uint32(m.ftab[8*j:]) > off }) - 1
		if j < 0 {
			return frameFunc{}, false
		}
		at := uint64(le.Uint32(m.ftab[8*j+4:]))
		if at+im.Facts["runtime._func#"] > uint64(len(m.pcln)) {
			return frameFunc{}, false
		}
		return frameFunc{m: m, entry: m.Text + uint64(le.Uint32(m.ftab[8*j:])), info: m.pcln[at:]}, true
	}
	return frameFunc{}, false
}

// FuncAt returns the name of the function that begins at pc, or "".
func (im *Image) FuncAt(pc uint64) string {
	f, ok := im.function(pc)
	if !ok || f.entry != pc {
		return ""
	}
	return im.funcName(f)
}

func (im *Image) funcName(f frameFunc) string {
	at := le.Uint32(f.info[im.Facts["runtime._func.nameOff"]:])
	if uint64(at) >= uint64(len(f.m.names)) {
		return ""
	}
	return cString(f.m.names[at:])
}

func cString(b []byte) string {
	return string(b[:max(bytes.IndexByte(b, 0), 0)])
}
