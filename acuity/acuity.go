// Package acuity decides how much nursing each room of a maternity unit needs
// now, and whether the staff on shift can give it. The words, smallest first:
//
//   - An [Observation] is what one request of one hospital says: facts.
//   - An [Evidence] is what one source says about one [Factor] of one patient.
//   - [Demand] is a need for nursing, in 60ths of a nurse.
//   - A [Chart] is who is in which room with what evidence: all that scoring needs.
//   - A [Verdict] is the chart judged at one instant: rooms, axes, level, shortfall.
//   - A [Change] is what one observation or one due instant did to a [Unit].
//
// There are two steps. A [Unit] keeps the facts of one hospital and turns them
// into its chart: the place of a patient is a function of the set of events,
// never of their order. [Chart.Verdict] then turns chart and instant into the
// answer. Neither ever asks what time it is: the caller passes now. Same facts,
// same moment, same verdict; every constant names its source. [Fold] is the
// plain reference for both steps.
package acuity
