package evidence

import (
	"fmt"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/terminology"
)

// noon is the instant from which the tests count minutes.
const noon = acuity.Instant(1_700_000_000_000)

func minutesPastNoon(m int) acuity.Instant { return noon + acuity.Instant(m)*60_000 }

// statedAt is a statement received and observed at a given minute.
type statedAt struct {
	at       int    // minute of receipt
	line     string // kind|system|code|display|value|status|fetus
	observed int    // minute of the observation; 0: not sent
	started  int    // minute of the start; 0: not sent
	feed     acuity.Channel
	of       string // resource or, for a component, the resource, a dot and the component's index
	made     int    // minute of the version; 0: not sent
	number   int64  // number of the version; 0: not sent
}

func (h statedAt) statement() *ResourceStatement {
	p := append(strings.Split(h.line, "|"), "", "", "", "", "", "")
	status := map[string]acuity.SignalStatus{"": acuity.SignalActive, "stop": acuity.SignalEnded, "hold": acuity.SignalOnHold, "error": acuity.SignalRetracted}
	kinds := map[string]catalogue.SignalKind{"med": catalogue.KindMedication, "obs": catalogue.KindObservation, "lab": catalogue.KindLab, "dev": catalogue.KindDevice, "con": catalogue.KindCondition}
	feed := h.feed
	if feed == "" {
		feed = acuity.ChannelClinical
	}
	w := terminology.SignalText{Feed: feed, Kind: kinds[p[0]], System: codes.System(p[1]), Code: p[2], Display: p[3], Value: codes.ParseValue(p[4]), Status: status[p[5]], Fetus: p[6]}
	if h.of != "" {
		w.Feed = acuity.ChannelFHIR
	}
	s := &ResourceStatement{Statement: Statement{MatchedSignal: terminology.MatchText(catalogue.Default(), w, nil), ReceivedAt: minutesPastNoon(h.at)}}
	if h.of != "" {
		s.Version = &Version{Resource: h.of, ID: h.number}
		if h.made != 0 {
			s.Version.UpdatedAt = minutesPastNoon(h.made)
		}
	}
	if h.observed != 0 {
		s.ObservedAt = minutesPastNoon(h.observed)
	}
	if h.started != 0 {
		s.StartedAt = minutesPastNoon(h.started)
	}
	return s
}

// orderedInput is an evidence input with its statements in order of arrival.
type orderedInput struct {
	Input
	signals []*ResourceStatement
}

// evidence returns the evidence from all statements, using a terminology map.
func (e *orderedInput) evidence(maps *terminology.Mappings) []acuity.Evidence {
	l := &Statements{}
	e.Resources, e.infusions, e.conditions = nil, nil, nil
	for i, h := range e.signals {
		h := *h
		if h.MatchedSignal = terminology.MatchText(catalogue.Default(), h.SignalText, maps); h.Version != nil {
			e.Resources = append(e.Resources, &h)
			continue
		}
		h.Number = int64(i + 1)
		l.Add(h.Statement)
	}
	e.Statements = []*Statements{l}
	if len(e.Resources) > 0 {
		diagnoses := e.Diagnoses
		defer func() { e.Diagnoses = diagnoses }()
		e.SortResources()
		for d := range e.Conditions {
			e.Diagnoses = append(e.Diagnoses, d)
		}
	}
	return slices.Clone(Fold(&e.Input, &terminology.Reader{Catalogue: catalogue.Default(), Mappings: maps}))
}

// describe formats evidence as "factor kind start..last", in minutes.
func describe(all []acuity.Evidence) string {
	kinds := [...]string{"", "signal", "diagnosis", "site", "manual", "adt", "census"}
	var lines []string
	for _, e := range all {
		start, last := (e.Start-noon)/60_000, (e.Last-noon)/60_000
		lines = append(lines, fmt.Sprintf("%s %s %d..%d", e.Factor.ID(), kinds[e.Kind], start, last))
	}
	return strings.Join(lines, ", ")
}
