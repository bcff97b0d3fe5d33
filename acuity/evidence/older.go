package evidence

import (
	"slices"

	"svc/acuity"
	"svc/acuity/terminology"
)

// Standing tells how a statement relates to the statements about the same patient that earlier requests contained.
type Standing uint8

// The standings of a statement.
const (
	Current      Standing = iota // no earlier request contained a newer statement of the same kind
	Older                        // an earlier request contained a newer statement of the same kind
	OlderVersion                 // an earlier request contained a newer version of the resource
	// Repeated means that an earlier request contained the same statement, an older version of it with the same time, or
	// a newer statement with the same meaning.
	Repeated
)

// IsNewerThan reports whether h has the code or concept of another statement and is later.
func (h *Statement) IsNewerThan(o *Statement) bool {
	return h.OrderTime() > o.OrderTime() && (h.HasCodeOf(o.MatchedSignal) || o.Concept != 0 && h.Concept == o.Concept)
}

// IsNewerVersionThan reports whether h belongs to a newer version of the resource of another statement.
func (h *ResourceStatement) IsNewerVersionThan(o *ResourceStatement) bool {
	return h.Version != nil && o.Version != nil && h.Version.Resource == o.Version.Resource && o.IsOlder([]*ResourceStatement{h})
}

// Standing returns the standing of the statement with the given number, if it belongs to the patient. Statements with
// numbers from first on belong to the same request and are ignored.
func (e *Input) Standing(number, first int64) Standing {
	for _, h := range e.Resources {
		if h.Number == number {
			if s := standingOfVersion(h, e.Resources, first); s != Current || h.runs() {
				return s
			}
		}
	}
	for _, l := range e.Statements {
		for h := range l.All {
			if h.Number == number && h.Owner == e.Owner {
				return e.standingOf(h, first)
			}
		}
	}
	return Current
}

// standingOf compares a statement with those of the same kind. The same value repeated within thinWithin is no older
// statement, because the list may have dropped a repetition.
func (e *Input) standingOf(h *Statement, first int64) Standing {
	var newest *Statement
	for _, l := range e.Statements {
		for o := range l.All {
			switch {
			case o.Owner != e.Owner || o.Number >= first || o.Identity.Fetus != h.Identity.Fetus:
			case !o.Counts() || o.Status == acuity.SignalRetracted:
			case o.HasCodeOf(h.MatchedSignal) && hasSameContent(o, h) && o.OrderTime().Sub(h.OrderTime()).Abs() < thinWithin:
				return Repeated
			case o.IsNewerThan(h) && (newest == nil || o.OrderTime() > newest.OrderTime()):
				newest = o
			}
		}
	}
	switch {
	case newest == nil:
		return Current
	case slices.EqualFunc(newest.Matches, h.Matches, func(a, b terminology.Match) bool {
		return a.Factor == b.Factor && a.On == b.On && a.Variant == b.Variant
	}):
		return Repeated
	}
	return Older
}

// standingOfVersion compares a version with the other versions of its resource.
func standingOfVersion(h *ResourceStatement, all []*ResourceStatement, first int64) Standing {
	if h.Version == nil {
		return Current
	}
	var versions []*ResourceStatement
	for _, o := range all {
		if o.Number >= first || o.Version == nil || o.Version.Resource != h.Version.Resource {
			continue
		}
		if hasSameContent(&o.Statement, &h.Statement) && o.ObservedAt == h.ObservedAt &&
			o.Version.UpdatedAt == h.Version.UpdatedAt && o.Version.ID == h.Version.ID {
			return Repeated
		}
		versions = append(versions, o)
	}
	switch {
	case h.IsOlder(versions):
		return OlderVersion
	case slices.ContainsFunc(versions, h.hasTimeOf): // a correction is not sent late
		return Repeated
	}
	return Current
}

// hasTimeOf reports whether two versions of a resource have the same observation time. A coarse time may have been
// resolved to different instants.
func (h *ResourceStatement) hasTimeOf(o *ResourceStatement) bool {
	return h.ObservedAt == o.ObservedAt || h.Version.ObservedFrom != 0 && h.Version.ObservedFrom == o.Version.ObservedFrom
}

// Concerning returns the evidence for the factors that a statement can affect.
func (h *Statement) Concerning(list []acuity.Evidence) (some []acuity.Evidence) {
	for i := range list {
		if slices.ContainsFunc(h.Matches, func(m terminology.Match) bool { return m.Factor == list[i].Factor || acknowledges(m) }) {
			some = append(some, list[i])
		}
	}
	return some
}
