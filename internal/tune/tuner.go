// Package tune finds the settings of Go's collector that suit a program it
// has never seen, which runs unmodified.
//
// A [Pilot] is one run of the program, read from its gctrace. It gives the
// program's trajectory: how much was live when how much had been allocated,
// which does not depend on the settings. A [Model] replays that trajectory
// through the rules of the runtime's pacer under any GOGC and GOMEMLIMIT, and
// so knows how often the collector would run, at what CPU time, up to what
// heap. A regression turns that into wall time, CPU time and peak memory, each
// with an interval that should hold 90 % of what is measured and whose width
// follows from all runs there are ([Model.Expect]). [Tune] runs the baseline and what the
// model would choose among pairs of GOGC and GOMEMLIMIT, and sets up to three
// choices against the baseline in paired, interleaved fresh runs, which alone give
// the verdicts. Objectives that no model predicts, such as a server's latency or a
// figure that the program prints, race in interleaved rounds instead.
//
// The derivation, units and sources are in docs/tune.md.
//
// What it does not do: it predicts no latency, takes the load on a server for
// given, and the processes of a program for independent of each other.
// Where it is not sure it says so in Doubts: measure there.
//
// All functions compute; only the function that is handed to [Tune] runs
// anything. Models and pilots are not changed once made and may be
// shared between goroutines.
//
// Imports: base, gc, lab, show.
package tune
