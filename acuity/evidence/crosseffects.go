package evidence

import (
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/terminology"
)

// crossEffect is the effect of statements on evidence from other sources.
type crossEffect struct {
	infused      bool           // whether a magnesium infusion is known, running or not
	acknowledged acuity.Instant // time of the newest acknowledgment of an early warning; 0: none
	calm         acuity.Instant // time of the newest early-warning score below the limit; 0: none
	below        acuity.Instant // time of the newest BMI if that BMI is below the limit, else 0
	categoryI    acuity.Instant // time of the newest Category I tracing; 0: none
	traced       acuity.Instant // time of the newest tracing of any category; 0: none
}

func (n *crossEffect) add(o crossEffect) {
	n.infused = n.infused || o.infused
	n.acknowledged = max(n.acknowledged, o.acknowledged)
	n.calm = max(n.calm, o.calm)
	n.below = max(n.below, o.below)
	n.categoryI = max(n.categoryI, o.categoryI)
	n.traced = max(n.traced, o.traced)
}

// crossEffects is the effect that the statements of one identity have had on other sources so far.
type crossEffects struct {
	crossEffect
	running bool // whether a magnesium infusion is running; false again after a retraction, which removes the whole run
}

// addStatement adds the effects of one more statement.
func (n *crossEffects) addStatement(ix *terminology.Index, concept catalogue.Factor, s *orderedStatement) {
	if s.Status == acuity.SignalRetracted {
		n.running = false // the retraction of a drug ends its run; winners handles all other retractions
		return
	}
	for _, m := range s.Matches {
		n.running = n.running || m.Factor == ix.Magnesium && s.Kind == catalogue.KindMedication
		if acknowledges(m) {
			n.acknowledged = s.order
		}
	}
	n.infused = n.infused || n.running && s.Status == acuity.SignalEnded
	if s.Status != acuity.SignalActive || concept == 0 {
		return
	}
	reached := slices.ContainsFunc(s.Matches, isOn)
	switch concept {
	case ix.Obesity:
		if n.below = s.order; reached {
			n.below = 0
		}
	case ix.CategoryIII:
		if n.traced = s.order; !reached {
			n.categoryI = s.order
		}
	case ix.EarlyWarning:
		if !reached {
			n.calm = s.order
		}
	}
}

// total returns the effects of all statements.
func (n *crossEffects) total() crossEffect {
	if n == nil {
		return crossEffect{}
	}
	all := n.crossEffect
	all.infused = all.infused || n.running
	return all
}

func isOn(m terminology.Match) bool { return m.On }

// acknowledges reports whether a match means that an early warning was acknowledged.
func acknowledges(m terminology.Match) bool {
	return m.On && m.Factor == terminology.CatalogueIndex().Acknowledged
}

// hasCrossEffect reports whether a match can have an effect on other sources.
func hasCrossEffect(m terminology.Match) bool {
	ix := terminology.CatalogueIndex()
	return m.Factor == ix.Magnesium || m.Factor == ix.Acknowledged
}

func isCategory(ix *terminology.Index, factor catalogue.Factor) bool {
	return factor != 0 && (factor == ix.CategoryII || factor == ix.CategoryIII)
}
