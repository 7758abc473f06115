// Package invariant reports whether internal checks are compiled in.
//
// [Enabled] is a constant, so `if invariant.Enabled { … }` costs nothing when
// it is false: the compiler removes the branch. It is true under the
// isobar_debug build tag and in race builds; [Race] is true only in race
// builds. An [Event] is what checks remember, for their reports.
package invariant
