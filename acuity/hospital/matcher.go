package hospital

import (
	"hash/maphash"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/evidence"
	"svc/acuity/terminology"
)

// matcher reads codes and texts with the catalogue and the mappings of the hospital.
type matcher struct {
	cat    *catalogue.Catalogue // with the rules of the hospital
	maps   *terminology.Mappings
	reader terminology.Reader
	// signals is a cache by the hash of the text: feeds repeat few texts again and again.
	signals    map[uint64]*terminology.MatchedSignal
	identities map[terminology.Identity]*terminology.Identity // one copy of each identity that was read
}

// capMatched bounds the cache; beyond it, the cache starts anew.
const capMatched = 512

// share returns the matched signal of a text. Equal texts share one.
func (m *matcher) share(w terminology.SignalText) *terminology.MatchedSignal {
	at := maphash.Comparable(seed, w)
	if r := m.signals[at]; r != nil && r.SignalText == w && r.Mappings == m.maps {
		return r
	}
	if len(m.identities) >= capMatched || len(m.signals) >= capMatched || m.signals == nil {
		m.signals, m.identities = map[uint64]*terminology.MatchedSignal{}, map[terminology.Identity]*terminology.Identity{}
	}
	w.System, w.Feed = codes.System(strings.Clone(string(w.System))), acuity.Channel(strings.Clone(string(w.Feed)))
	w.Code, w.Display = strings.Clone(w.Code), strings.Clone(w.Display)
	w.Value.Unit, w.Value.Words = strings.Clone(w.Value.Unit), strings.Clone(w.Value.Words)
	w.Also = terminology.Codings(strings.Clone(string(w.Also)))
	r := terminology.MatchText(m.cat, w, m.maps)
	if known := m.identities[*r.Identity]; known != nil {
		r.Identity = known
	} else {
		m.identities[*r.Identity] = r.Identity
	}
	m.signals[at] = r
	return r
}

// reread reads a statement with the mappings of the unit, if others read it.
func (m *matcher) reread(h *evidence.Statement) {
	if h.Mappings != m.maps {
		h.MatchedSignal = m.share(h.SignalText)
	}
}

// rereadAll reads statements with the mappings of the unit, if others read them.
func (m *matcher) rereadAll(l *evidence.Statements) *evidence.Statements {
	l.Reread(m.maps, m.share)
	return l
}

// seed is the seed of the hashes of a unit, which never leave the process.
var seed = maphash.MakeSeed()
