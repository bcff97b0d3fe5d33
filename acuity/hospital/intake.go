package hospital

import (
	"svc/acuity"
	"svc/acuity/facts"
	"svc/acuity/registry"
)

// answerCreates reports that nothing changed if the observation would only create things that already exist.
func answerCreates(in *registry.Intake) {
	if len(in.Existing) == 0 {
		return
	}
	n := 0
	for _, c := range in.Existing {
		for _, s := range [...]acuity.Span{c.Events, c.Signals, c.References} {
			n += int(s.To - s.From)
		}
	}
	if n == len(in.Observation.Events)+len(in.Observation.Signals)+len(in.Observation.References) {
		in.Outcome, in.Reason = acuity.Ignored, facts.ReasonExists
	}
}
