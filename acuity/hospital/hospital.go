// Package hospital keeps the facts of one hospital as the chart of its maternity unit.
//
// A [State] takes observations, and tells of each what it changed. The place of a patient
// is a function of the set of events, never of their order. It never asks what time it
// is: the caller passes now. [Fold] is the plain reference.
//
// What a set of events means, which room a location is, and what statements amount to, is
// for the packages adt, location and evidence. This one knows who is where, and whose a
// statement is.
package hospital
