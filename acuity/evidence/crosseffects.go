package evidence

import (
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/terminology"
)

// crossEffect is what statements mean for other sources than their own.
type crossEffect struct {
	infused      bool           // a magnesium infusion is known, running or not
	acknowledged acuity.Instant // newest acknowledgement of an early warning; 0: none
	categoryI    acuity.Instant // newest Category I; 0: none
	calm         acuity.Instant // newest early-warning score below the limit; 0: none
	below        acuity.Instant // newest BMI, if it is below the limit; else 0
}

func (n *crossEffect) add(o crossEffect) {
	n.infused = n.infused || o.infused
	n.acknowledged = max(n.acknowledged, o.acknowledged)
	n.categoryI = max(n.categoryI, o.categoryI)
	n.calm = max(n.calm, o.calm)
	n.below = max(n.below, o.below)
}

// crossEffects is what the statements of one identity so far mean for other sources. A
// retraction takes back the statement before it, unless its value names another one; for
// an infusion it takes back the whole run.
type crossEffects struct {
	known, newest      crossEffect
	infused            bool
	below, belowBefore acuity.Instant // see crossEffect; belowBefore is the value before a statement that ended it
}

// addStatement adds the effects of one statement of the identity.
func (n *crossEffects) addStatement(ix *terminology.Index, concept catalogue.Factor, s *orderedStatement) {
	if s.Status == acuity.SignalRetracted {
		if concept != 0 && slices.ContainsFunc(s.TakenBack, isOn) {
			n.below, n.belowBefore = max(n.below, n.belowBefore), 0
			return
		}
		n.newest, n.infused, n.below, n.belowBefore = crossEffect{}, false, 0, 0
		return
	}
	n.known.add(n.newest)
	n.newest = crossEffect{}
	for _, m := range s.Matches {
		n.infused = n.infused || m.Factor == ix.Magnesium && s.Kind == catalogue.KindMedication
		if acknowledges(m) {
			n.newest.acknowledged = s.order
		}
	}
	n.known.infused = n.known.infused || n.infused && s.Status == acuity.SignalEnded
	if s.Status != acuity.SignalActive || concept == 0 {
		return
	}
	reached := slices.ContainsFunc(s.Matches, isOn)
	switch {
	case concept == ix.Obesity && reached:
		n.below, n.belowBefore = 0, n.below
	case reached:
	case concept == ix.Obesity:
		n.below = s.order
	case concept == ix.CategoryIII:
		n.newest.categoryI = s.order
	case concept == ix.EarlyWarning:
		n.newest.calm = s.order
	}
}

// total returns the effects of all statements.
func (n *crossEffects) total() crossEffect {
	if n == nil {
		return crossEffect{}
	}
	all := n.known
	all.add(n.newest)
	all.add(crossEffect{infused: n.infused, below: n.below})
	return all
}

func isOn(m terminology.Match) bool { return m.On }

// acknowledges reports whether a match says that somebody has seen an early warning.
func acknowledges(m terminology.Match) bool {
	return m.On && m.Factor == terminology.CatalogueIndex().Acknowledged
}

// hasCrossEffect reports whether a match can have an effect on other sources.
func hasCrossEffect(m terminology.Match) bool {
	ix := terminology.CatalogueIndex()
	return m.Factor == ix.Magnesium || m.Factor == ix.Acknowledged
}

// clearedBy returns when a factor was last denied, whatever source had asserted it; 0:
// never. A Category I denies the categories II and III. An early-warning score below the
// limit denies the warning (scoring-decisions 61).
func (n *crossEffect) clearedBy(ix *terminology.Index, factor catalogue.Factor) acuity.Instant {
	switch {
	case isCategory(ix, factor):
		return n.categoryI
	case factor != 0 && factor == ix.EarlyWarning:
		return n.calm
	}
	return 0
}

func isCategory(ix *terminology.Index, factor catalogue.Factor) bool {
	return factor != 0 && (factor == ix.CategoryII || factor == ix.CategoryIII)
}

// isOlder reports whether an effect on other codes comes from a statement before an
// instant.
func (n *crossEffects) isOlder(than acuity.Instant) bool {
	if n == nil {
		return false
	}
	older := func(at acuity.Instant) bool { return at != 0 && at < than }
	return older(n.known.acknowledged) || older(n.known.categoryI) || older(n.known.calm) || older(n.below) || older(n.belowBefore)
}
