package ingest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/acuity"
	"svc/internal/httpapi"
)

// Decode reads the body of one request of a JSON feed (adt, census, clinical, roster,
// staffing) into o, as the handler of that feed does. It needs no server, and adds
// nothing that only a request has (its identity). The caller sets channel, hospital and
// time of receipt in o. The error lists the rules that the body breaks.
func Decode(o *acuity.Observation, body []byte, zone *time.Location, pseudonyms Pseudonyms) ([]acuity.Warning, error) {
	problem := httpapi.CheckJSON(body)
	in := &reader{now: o.ReceivedAt, zone: zone, pseudonym: pseudonyms.forHospital(o.Hospital)}
	if problem == nil {
		switch o.Channel {
		case acuity.ChannelADT:
			o.Events = []acuity.Event{in.event(body, "")}
		case acuity.ChannelCensus:
			o.Census = in.census(body)
		case acuity.ChannelClinical:
			in.clinical(body, o)
		case acuity.ChannelRoster:
			o.Roster = in.roster(body)
		case acuity.ChannelStaffing:
			o.Staffing = in.staffing(body)
		case acuity.ChannelBatch, acuity.ChannelFHIR, acuity.ChannelHL7, acuity.ChannelTerminology, acuity.ChannelRules, acuity.ChannelLocations, acuity.ChannelSettings:
			return nil, fmt.Errorf("%s is not a feed of single JSON bodies", o.Channel)
		}
		problem = in.problem()
	}
	if problem != nil {
		return nil, brokenRules{problem}
	}
	return slices.Clip(in.warnings), nil
}

// brokenRules presents a problem as an error. It names rules and places, never values.
type brokenRules struct{ *httpapi.Problem }

// Error implements [error].
func (r brokenRules) Error() string {
	text := []string{r.Message}
	for _, d := range r.Details {
		text = append(text, d.Path+": "+d.Rule)
	}
	return strings.Join(text, " ")
}
