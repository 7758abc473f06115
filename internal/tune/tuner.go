// Package tune finds the settings of Go's collector that suit an unmodified program
// that it has never seen.
//
// A [Pilot] is one run of the program, read from its gctrace. It gives the program's
// trajectory: the live bytes as a function of the bytes allocated so far, which does not
// depend on the settings. A [Model] replays that trajectory through the rules of the
// runtime's pacer under any GOGC and GOMEMLIMIT. The replay says how often the collector
// would run, how much CPU time it would take and how far the heap would grow. A regression
// turns that into wall time, CPU time and peak memory. Each has an interval that should
// hold 90 % of later measurements and whose width follows from all runs so far
// ([Model.Expect]). [Tune] runs the baseline and the pairs of GOGC and GOMEMLIMIT that the
// model would choose, then compares up to three choices with the baseline in paired,
// interleaved fresh runs. Objectives that no model predicts, such as a server's latency or
// a figure that the program prints, race in interleaved rounds instead.
//
// The derivation, units and sources are in docs/tune.md.
//
// Limits: the package predicts no latency, takes the load on a server as given, and treats
// the processes of a program as independent of each other. Doubts name where it is not
// sure: measure there.
//
// All functions only compute, except that [Tune] calls the function it is given to run the
// program. Models and pilots never change once made; goroutines may share them.
//
// Imports: base, gc, lab, show.
package tune
