// Package terminology finds the factors that a code, with its value, stands for.
//
//   - An [Index] has the codes of the catalogue, [Mappings] those of one hospital.
//   - A [Reader] reads signals, conditions, diagnoses with both.
//   - A [Match] is what one statement says about one factor.
//   - A [MatchedSignal] is a text with its matches. Equal statements share one.
//
// It keeps no text of a person: [ReduceDisplay] leaves only the words of the rules.
package terminology
