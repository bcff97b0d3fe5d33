package integrations

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
	"svc/readapi/web/apicall"
)

// localRequest is what the pages of the local settings of a hospital have in common: how they
// name factors, and show what an act would change.
type localRequest struct{ *adminRequest }

// The pages of one part each.
type (
	feedsRequest  struct{ localRequest }
	termsRequest  struct{ localRequest }
	placesRequest struct{ termsRequest }
	rulesRequest  struct{ localRequest }
	alertsRequest struct{ localRequest }
)

// factorNamed returns the name of a factor by its id; "none" is the code that means nothing.
func (d localRequest) factorNamed(id string) string {
	if id == noFactor {
		return d.T("terms.nothing")
	}
	return d.Or("factor."+id, id)
}

// noFactor is how the API names the factor of a code that means nothing.
const noFactor = "none"

// factors are all factors of the catalogue by name, as options of a list.
func (d localRequest) factors(chosen string) (all []option) {
	for f := acuity.Factor(1); int(f) <= acuity.Default().Len(); f++ {
		all = append(all, option{f.ID(), d.FactorName(f), f.ID() == chosen})
	}
	slices.SortFunc(all, func(a, b option) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return all
}

// option is one of a list to choose from.
type option struct {
	Value, Name string
	Chosen      bool
}

// acted is what an act did to the verdict, or would do, as the API tells it.
type acted struct {
	Applied bool
	Level   *string
	Changes []struct {
		RoomID    *int32
		RoomLabel *string
		Was, Is   string
	}
	Activated, Expired []struct{ RoomLabel, Label, FactorID string }
	Warnings           []struct{ Code, Path string }
}

// effect is what an act would change now.
type effect struct {
	Level     *colored
	Rooms     []roomEffect
	Activated []string
	Expired   []string
	Warnings  []string
}

type roomEffect struct {
	Label   string
	Was, Is colored
	Stays   bool
}

// colored is a colour with its shape and its word.
type colored struct{ Class, Shape, Word string }

func (d localRequest) colored(color string) colored {
	shape := map[string]string{"green": "g", "yellow": "y", "orange": "o", "red": "r"}[color]
	return colored{color, shape, d.Or("color."+color, color)}
}

// effectOf returns what an act would change: the level and the rooms, before and after.
// Rooms of those named that keep their colour are told, too.
func (d localRequest) effectOf(a *acted, named []int32) *effect {
	out := &effect{}
	changed := map[int32]bool{}
	for _, c := range a.Changes {
		if c.RoomID == nil {
			out.Rooms = append([]roomEffect{{Label: d.T("terms.unit"), Was: d.colored(c.Was), Is: d.colored(c.Is)}}, out.Rooms...)
			level := d.colored(c.Is)
			out.Level = &level
			continue
		}
		changed[*c.RoomID] = true
		out.Rooms = append(out.Rooms, roomEffect{Label: deref(c.RoomLabel), Was: d.colored(c.Was), Is: d.colored(c.Is)})
	}
	if v, err := d.Verdict(d.r.Context(), d.session.Hospital); err == nil && v != nil {
		for i := range v.Rooms {
			r := &v.Rooms[i]
			for _, id := range named {
				if r.ID == id && !changed[id] && r.Status == acuity.RoomOccupied {
					color := d.colored(r.Color.String())
					out.Rooms = append(out.Rooms, roomEffect{Label: r.Label, Was: color, Is: color, Stays: true})
				}
			}
		}
		if out.Level == nil {
			level := d.colored(v.Level.String())
			out.Rooms = append(out.Rooms, roomEffect{Label: d.T("terms.unit"), Was: level, Is: level, Stays: true})
		}
	}
	for _, f := range a.Activated {
		out.Activated = append(out.Activated, f.RoomLabel+": "+d.factorNamed(f.FactorID))
	}
	for _, f := range a.Expired {
		out.Expired = append(out.Expired, f.RoomLabel+": "+d.factorNamed(f.FactorID))
	}
	for _, w := range a.Warnings {
		out.Warnings = append(out.Warnings, strings.TrimSpace(w.Code+" "+w.Path))
	}
	return out
}

// doIf is do for a thing that may not be there: without a version it must not be.
func (d localRequest) doIf(method, path, version string, body, into any) (refused *apicall.Refusal, ok bool) {
	return d.do(method, path, cmp.Or(version, notThere), body, into)
}
