// Package score judges a chart at an instant.
//
//   - [Judge] turns a chart into a [Verdict]. It never asks what time it is: the caller
//     passes now. Same chart, same moment, same verdict.
//   - [JudgeRoom] judges one room: its active factors, its demand, its score.
//   - [JudgeUnit] sums rooms up, reads the seven axes, finds the level.
//   - [TakeSnapshot] adds what each patient will need in the hours ahead.
//
// Every constant names its source.
package score
