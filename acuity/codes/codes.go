// Package codes reduces what a clinical statement was sent with to a form that rules
// compare: its code, its value, its instants.
//
//   - A [System] gives a code its meaning; [NormalSystem] finds it by any of its names.
//   - [Patterns] are what a code of the catalogue or of a hospital's map stands for, and
//     [Tables] find the entries of a code.
//   - A [Value] is a number with a unit of a closed list, or words of a closed vocabulary.
//     Everything else of its text is dropped, because it could be about a person.
//   - An [Instant] is a time to the millisecond, as the wire has it.
package codes
