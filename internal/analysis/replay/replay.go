// Package replay makes the verdicts anew from the log.
//
// A [Refold] makes the changes of one hospital from its inputs, by the functions of the live
// processor. A [Rerun] writes the changes as rows, and a [Diff] compares them with the recorded
// ones. Nothing here depends on the wall clock: the same records make the same bytes.
package replay
