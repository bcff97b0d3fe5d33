package stays

import (
	"svc/acuity/facts"
)

// List records the newborns that a census lists; nil: there is no census.
func (l *Builder) List(f *facts.CensusFacts) {
	if f == nil {
		return
	}
	for i := range f.Newborns {
		if id := f.Newborns[i].Visit; id != "" {
			l.Listed[id] = true
		}
	}
}
