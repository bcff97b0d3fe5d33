// Package replay reads the log again: it exports it, makes the verdicts anew,
// and holds what was written and what is served against them.
//
//   - A [Log] is the observations as an independent client reads them, with a
//     library of its own (segmentio/kafka-go), in no group and never writing.
//   - An [Input] is one record of it, and a [Refold] makes the changes of one
//     hospital anew from its inputs, by the functions that the live processor
//     calls.
//
// Nothing here is a function of the wall clock: the same records make the same
// bytes.
package replay
