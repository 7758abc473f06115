// Package latency measures how long operations take without leaving out the
// slow ones.
//
// A [Recorder] collects durations from any number of goroutines; a
// [Histogram] holds such a collection, answers quantiles, merges with others
// and has two encodings: its own lossless one and the HdrHistogram V2
// compressed format, which the HdrHistogram libraries of other languages
// read. A [Pacer] runs operations at the times that a [Schedule] says, however
// long the ones before took, and records two durations for each: response
// time, from when the operation was due, and service time, from when it began.
//
// # Values
//
// Durations from 0 to [Max], one hour, are kept; shorter and longer ones count
// as these bounds. Up to 1,000 values are kept as they are. A larger
// collection is kept in buckets of three significant digits: a value is known
// to 1 part in 2,048 of itself, and exactly below 2,048 ns. Count, minimum,
// maximum and mean stay exact.
//
// # Why open loop
//
// A loop that waits for one operation before it starts the next stops asking
// while the system under test stalls: of a stall that would have hit a
// thousand operations, it records one. Tickers do the same, since they drop
// ticks that nobody takes. The Pacer never drops an operation. Those that
// become due during a stall run back to back after it, and the time they
// waited is part of their response time.
//
// # Concurrency
//
// Recorder methods may be called by any number of goroutines at once. A
// Histogram may be read by several goroutines as long as none changes it. A
// Pacer runs operations one after another on the goroutine that calls Run.
//
// Sources: G. Tene, HdrHistogram (hdrhistogram.org), for buckets and encoding;
// G. Tene, "How NOT to Measure Latency", for coordinated omission.
package latency
