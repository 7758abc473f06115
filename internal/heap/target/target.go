// Package target reads the memory of another Go program: a running process on Linux,
// or an ELF core file. It knows the program's executable, where it is loaded and how
// it was built, but nothing of the Go heap.
package target

import (
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// A Range is memory of the target: len(Data) bytes from Addr. The reader owns Data.
type Range struct {
	Addr uint64
	Data []byte
}

// Regs are the registers of one thread that matter for roots.
type Regs struct {
	Thread  int
	PC, SP  uint64
	General []uint64 // all registers that can hold a pointer
}

// A Memory reads the target's memory.
type Memory interface {
	// Read fills every range. It fails if any byte cannot be read.
	Read(ranges []Range) error
	// Threads returns the registers of all threads of a stopped process or a core.
	Threads() ([]Regs, error)
}

// A Mapping is a part of the address space.
type Mapping struct {
	Start, End uint64
	Offset     uint64 // in File
	Read       bool
	Write      bool
	File       string
}

// A Program is the executable of a target.
type Program struct {
	Path  string
	ELF   *elf.File
	Bias  uint64 // added to the executable's addresses
	Arch  string // GOARCH
	Go    string // "go1.26.8"
	Build *debug.BuildInfo

	symbols map[string]uint64 // of package runtime; nil until Symbol reads them
}

// ErrNoFork is wrapped in the error for a process that must not or cannot fork.
var ErrNoFork = errors.New("no fork")

// OpenProgram reads an executable. Close it when done.
func OpenProgram(path, name string) (*Program, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			return nil, fmt.Errorf("target: %w", err)
		}
		return nil, fmt.Errorf("target: %s: not a Go program: %w", name, err)
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("target: %s: not an executable of Linux: %w", name, err)
	}
	p := &Program{Path: name, ELF: f, Go: strings.SplitN(info.GoVersion, " ", 2)[0], Build: info}
	switch f.Machine {
	case elf.EM_X86_64:
		p.Arch = "amd64"
	case elf.EM_AARCH64:
		p.Arch = "arm64"
	default:
		f.Close()
		return nil, fmt.Errorf("target: %s is for %v: only amd64 and arm64 can be read", name, f.Machine)
	}
	return p, nil
}

// Close closes the executable.
func (p *Program) Close() error { return p.ELF.Close() }

// Setting returns a build setting, such as "GOEXPERIMENT"; "" if it is not set.
func (p *Program) Setting(key string) string {
	for _, s := range p.Build.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// setBias finds the load address of the executable: the mapping of the page with its
// first loaded byte.
func (p *Program) setBias(maps []Mapping) error {
	for _, prog := range p.ELF.Progs {
		if prog.Type != elf.PT_LOAD {
			continue
		}
		page := prog.Off &^ 0xfff
		for _, m := range maps {
			if m.File == p.Path && m.Offset == page {
				p.Bias = m.Start - prog.Vaddr&^0xfff
				return nil
			}
		}
	}
	if p.ELF.Type == elf.ET_EXEC {
		return nil
	}
	return fmt.Errorf("target: %s is not mapped: was it replaced while it ran?", p.Path)
}

// Symbol returns the address in the target of a variable of package runtime; 0 if the
// executable has no symbol for it.
func (p *Program) Symbol(name string) uint64 {
	if p.symbols == nil {
		p.symbols = make(map[string]uint64)
		all, _ := p.ELF.Symbols() // a stripped executable has none
		for _, s := range all {
			if elf.ST_TYPE(s.Info) == elf.STT_OBJECT && strings.HasPrefix(s.Name, "runtime.") {
				p.symbols[s.Name] = s.Value
			}
		}
	}
	if at, ok := p.symbols[name]; ok {
		return at + p.Bias
	}
	return 0
}

// readStatic reads memory from the executable's segments, of which variables are those that the program
// may have changed since. It returns false if they do not contain it.
func (p *Program) readStatic(r Range, variables bool) bool {
	for _, prog := range p.ELF.Progs {
		addr := r.Addr - p.Bias
		if prog.Type != elf.PT_LOAD || prog.Flags&elf.PF_W != 0 && !variables {
			continue
		}
		if addr < prog.Vaddr || addr+uint64(len(r.Data)) > prog.Vaddr+prog.Filesz {
			continue
		}
		_, err := prog.ReadAt(r.Data, int64(addr-prog.Vaddr))
		return err == nil
	}
	return false
}
