// Package acuity decides how much nursing each room of a maternity unit needs
// now, and whether the staff on shift can give it. The words, smallest first:
//
//   - An [Observation] is what one request of one hospital says: facts.
//   - An [Evidence] is what one source says about one [Factor] of one patient.
//   - [Demand] is a need for nursing, in 60ths of a nurse.
//   - A [Chart] is who is in which room with what evidence: all that scoring needs.
//   - A [Verdict] is the chart judged at one instant: rooms, axes, level, shortfall.
//   - A [Change] is what one observation or one due instant did to a hospital.
//
// There are two steps. The package hospital keeps the facts of one hospital and turns
// them into its chart. [Chart.Verdict] then turns chart and instant into the answer.
// It never asks what time it is: the caller passes now. Same chart, same moment, same
// verdict; every constant names its source.
package acuity
