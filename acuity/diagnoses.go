package acuity

// diagnosed is one diagnosis that stands: a run of statements without a break.
type diagnosed struct {
	Diagnosis
	Start Instant // onset, if the first statement of the run gave it, else that statement's time (D5)
	Last  Instant // time of the newest statement
	Feed  Channel
}
