package layout

import (
	"debug/dwarf"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// paths are the facts that fromDWARF reads.
var paths = []string{
	"runtime.mheap.allspans", "runtime.mheap.heapArenas", "runtime.mheap.sweepgen", "runtime.mheap.central",
	"runtime.mheap.central[]", "runtime.mcentral.spanclass", "runtime.mheap.arenas", "runtime.heapArena#",
	"runtime.mheap.pages.summary", "runtime.mheap.pages.summary#", "runtime.mheap.pages.chunks",
	"runtime.mheap.pages.chunks#", "runtime.mheap.pages.scav.index.chunks", "runtime.mheap#",
	"runtime.mspan.startAddr", "runtime.mspan.npages", "runtime.mspan.freeindex", "runtime.mspan.nelems",
	"runtime.mspan.allocBits", "runtime.mspan.gcmarkBits", "runtime.mspan.sweepgen", "runtime.mspan.allocCount",
	"runtime.mspan.spanclass", "runtime.mspan.state", "runtime.mspan.elemsize", "runtime.mspan.limit",
	"runtime.mspan.specials", "runtime.mspan.largeType", "runtime.mspan.needzero", "runtime.mspan.isUserArenaChunk",
	"runtime.mspan#",
	"runtime.special.next", "runtime.special.offset", "runtime.special.kind",
	"runtime.specialfinalizer.fn", "runtime.specialCleanup.cleanup", "runtime.specialCleanup.fn", "runtime.cleanupFn#",
	"runtime.specialWeakHandle.handle",
	"runtime.g.stack", "runtime.g.sched.sp", "runtime.g.sched.pc", "runtime.g.sched.ctxt", "runtime.g.sched.bp",
	"runtime.g.syscallsp", "runtime.g.syscallpc", "runtime.g.atomicstatus", "runtime.g.goid", "runtime.g.waitreason",
	"runtime.g.waitsince", "runtime.g.gopc", "runtime.g.startpc", "runtime.g._defer", "runtime.g._panic", "runtime.g.m",
	"runtime.g#", "runtime.m.procid", "runtime.m.curg", "runtime.m.g0", "runtime.m#",
	"runtime.moduledata.pcHeader", "runtime.moduledata.funcnametab", "runtime.moduledata.pctab",
	"runtime.moduledata.pclntable", "runtime.moduledata.ftab", "runtime.moduledata.minpc", "runtime.moduledata.maxpc",
	"runtime.moduledata.text", "runtime.moduledata.etext", "runtime.moduledata.data", "runtime.moduledata.edata",
	"runtime.moduledata.bss", "runtime.moduledata.ebss", "runtime.moduledata.noptrdata",
	"runtime.moduledata.enoptrdata", "runtime.moduledata.noptrbss", "runtime.moduledata.enoptrbss",
	"runtime.moduledata.types", "runtime.moduledata.etypes", "runtime.moduledata.rodata", "runtime.moduledata.gofunc",
	"runtime.moduledata.gcdatamask", "runtime.moduledata.gcbssmask", "runtime.moduledata.next", "runtime.moduledata#",
	"internal/runtime/maps.Map.dirPtr", "internal/runtime/maps.Map.dirLen", "internal/runtime/maps.Map.used",
	"internal/runtime/maps.Map#", "internal/runtime/maps.table.groups", "internal/runtime/maps.table#",
	"internal/runtime/maps.table.used", "internal/runtime/maps.table.capacity",
	"runtime.g.waiting", "runtime.sudog.elem", "runtime.sudog.c", "runtime.sudog.waitlink", "runtime.sudog#",
	"runtime._defer.heap", "runtime._defer.sp", "runtime._defer.fn", "runtime._defer.link", "runtime._defer#",
	"runtime.hchan.qcount", "runtime.hchan.dataqsiz", "runtime.hchan.buf", "runtime.hchan#",
	"runtime._func.entryOff", "runtime._func.nameOff", "runtime._func.args", "runtime._func.deferreturn",
	"runtime._func.pcsp", "runtime._func.npcdata", "runtime._func.funcID", "runtime._func.flag",
	"runtime._func.nfuncdata", "runtime._func#",
	"runtime.finBlock.alllink", "runtime.finBlock.cnt", "runtime.finBlock.fin", "runtime.finalizer#",
	"runtime.workType.cpuStats.GCTotalTime", "runtime.workType.cpuStats.GCIdleTime",
	"runtime.workType.cpuStats.IdleTime", "runtime.workType.cpuStats.TotalTime", "runtime.gcControllerState.gcPercent",
}

// format is the reverse of parse.
func (f Facts) format(arch string) string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&b, "%s %s %d\n", arch, path, f[path])
	}
	return b.String()
}

// fromDWARF reads the facts from the debug information of a Go program.
func fromDWARF(d *dwarf.Data) (Facts, error) {
	f, wanted := make(Facts), make(map[string]dwarf.Type) // by the name of the struct
	for _, path := range paths {
		wanted[structOf(path)] = nil
	}
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			return nil, fmt.Errorf("layout: DWARF: %w", err)
		}
		if e == nil {
			break
		}
		if e.Tag == dwarf.TagSubprogram {
			r.SkipChildren()
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		if n, ok := e.Val(dwarf.AttrConstValue).(int64); ok && strings.HasPrefix(name, waitReason) {
			if reason := strings.TrimPrefix(name, waitReason); reasons[reason] != "" {
				f[name] = uint64(n)
			}
		}
		if t, ok := wanted[name]; !ok || t != nil || e.Tag != dwarf.TagStructType {
			continue
		}
		t, err := d.Type(e.Offset)
		if err != nil {
			return nil, fmt.Errorf("layout: DWARF of %s: %w", name, err)
		}
		wanted[name] = t
	}
	for _, path := range paths {
		t := wanted[structOf(path)]
		if t == nil {
			continue // this version has no such struct, or the linker dropped it
		}
		if n, ok := offset(t, strings.TrimPrefix(path, structOf(path))); ok {
			f[path] = n
		}
	}
	return f, nil
}

// structOf returns the struct that a path begins with.
func structOf(path string) string {
	dir := strings.LastIndexByte(path, '/') + 1
	part := strings.SplitN(path[dir:], ".", 3)
	return path[:dir] + part[0] + "." + strings.TrimSuffix(part[1], "#")
}

// offset follows ".field.field", with an optional "[]" or "#" at the end.
func offset(t dwarf.Type, path string) (uint64, bool) {
	sum := uint64(0)
	for path != "" {
		for {
			alias, ok := t.(*dwarf.TypedefType)
			if !ok {
				break
			}
			t = alias.Type
		}
		if path == "#" {
			return uint64(t.Size()), true
		}
		if path == "[]" {
			a, ok := t.(*dwarf.ArrayType)
			if !ok {
				return 0, false
			}
			return uint64(a.Type.Size()), true
		}
		s, ok := t.(*dwarf.StructType)
		if !ok {
			return 0, false
		}
		path = path[1:]
		end := strings.IndexAny(path, ".[#")
		if end < 0 {
			end = len(path)
		}
		i := slices.IndexFunc(s.Field, func(f *dwarf.StructField) bool { return f.Name == path[:end] })
		if i < 0 {
			return 0, false
		}
		t, sum, path = s.Field[i].Type, sum+uint64(s.Field[i].ByteOffset), path[end:]
	}
	return sum, true
}
