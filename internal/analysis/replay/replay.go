// Package replay reads the log again. It exports the log, makes the verdicts anew, and checks
// changelog and view against the verdicts that the log makes.
//
//   - A [Log] is the observations as an independent client reads them, with a
//     library of its own (segmentio/kafka-go), in no group and without writing.
//   - An [Input] is one record of the log. A [Refold] makes the changes of one
//     hospital anew from its inputs, by the functions of the live processor.
//
// Nothing here depends on the wall clock: the same records make the same bytes.
package replay
