// Package adt builds the timeline of a visit from the set of its ADT events.
//
// [Build] puts the events into their order, takes back what is cancelled, and says of each
// what became of it. The order of arrival means nothing. A [Timeline] has the stays, the
// diagnoses that stand, and the primary factor of the patient. The kinds of places and
// the reasons of admissions that decide on a primary are in places.txt.
package adt
