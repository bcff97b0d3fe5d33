package acuity

import "strings"

// ReasonReused is the reason of an input that carried the identity of an earlier
// request and another body: it was not taken.
const ReasonReused = "request_reused"

// repeats reports whether the observation carries the identity of a request that
// was taken in within 24 h: then it has no effect, and the change says which
// change the first one made. Else the identity is remembered.
func (u *Unit) repeats(in *intake) bool {
	r := in.o.Request
	if r == nil || r.Key == "" {
		return false
	}
	if s := u.seen[r.Key]; s != nil && u.facts.Clock < s.At.Add(forgetSeen) {
		in.Outcome, in.Repeats, in.RepeatsAt = Duplicate, s.Version, s.At
		if s.Digest != r.Digest {
			in.Reason = ReasonReused
		}
		return true
	}
	s := &SeenState{
		ID: strings.Clone(r.Key), Digest: strings.Clone(r.Digest), At: u.facts.Clock,
		Version: u.facts.Version + 1, // that of the change in the making
	}
	u.note(s)
	return false
}
