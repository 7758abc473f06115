// Package latency measures how long operations take without missing the slow
// ones.
//
// A [Recorder] collects durations from any number of goroutines. A [Histogram]
// holds such a collection, answers quantiles, merges with others and has two
// encodings: a lossless one of its own, and the HdrHistogram V2 compressed
// format, which HdrHistogram libraries in other languages read. A [Pacer] runs
// operations at the times given by a [Schedule], however long the earlier ones
// took, and records two durations for each: response time, from when the
// operation was due, and service time, from when it began.
//
// # Values
//
// Durations from 0 to [Max], one hour, are kept; shorter and longer ones count
// as these bounds. Up to 1,000 values are kept as they are. A larger collection
// is kept in buckets of three significant digits: a value is accurate to 1 part
// in 2,048, and exact below 2,048 ns. Count, minimum, maximum and mean stay
// exact.
//
// # Why open loop
//
// A loop that waits for one operation before it starts the next sends nothing
// while the system under test stalls: if a stall would have hit a thousand
// operations, the loop records one. Tickers do the same, since they drop ticks
// that nobody takes. The Pacer never drops an operation. Operations that become
// due during a stall run back to back after it, and their wait is part of their
// response time.
//
// # Concurrency
//
// Any number of goroutines may call Recorder methods at once. Several goroutines
// may read a Histogram as long as none changes it. A Pacer runs operations one
// after another on the goroutine that calls Run.
//
// Sources: G. Tene, HdrHistogram (hdrhistogram.org), for buckets and encoding;
// G. Tene, "How NOT to Measure Latency", for coordinated omission.
package latency
