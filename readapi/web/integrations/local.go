package integrations

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/readapi/web/apicall"
)

// localRequest is what the pages of local settings share: they name factors, and show what
// an act would change.
type localRequest struct{ *adminRequest }

// Each section of local settings has a type of its own.
type (
	feedsRequest  struct{ localRequest }
	termsRequest  struct{ localRequest }
	placesRequest struct{ termsRequest }
	rulesRequest  struct{ localRequest }
	alertsRequest struct{ localRequest }
)

// forSection gives a page the request of its section.
func forSection[T ~struct{ localRequest }](do func(T)) func(*adminRequest) {
	return func(on *adminRequest) { do(T{localRequest{on}}) }
}

func forPlaces(do func(placesRequest)) func(*adminRequest) {
	return forSection(func(d termsRequest) { do(placesRequest{d}) })
}

// nameFactor returns the name of a factor by its id. The id of a code that means nothing is
// "none".
func (d localRequest) nameFactor(id string) string {
	if id == noFactor {
		return d.T("terms.nothing")
	}
	return d.Or("factor."+id, id)
}

// noFactor is how the API names the factor of a code that means nothing.
const noFactor = "none"

// listFactors returns all factors of the catalogue in the order of their names.
func (d localRequest) listFactors(chosen string) (all []option) {
	for f := catalogue.Factor(1); int(f) <= catalogue.Default().Len(); f++ {
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

// acted is what an act changes in the verdict, or would change, as the API answers.
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

func (d localRequest) newColored(color string) colored {
	shape := map[string]string{"green": "g", "yellow": "y", "orange": "o", "red": "r"}[color]
	return colored{color, shape, d.Or("color."+color, color)}
}

// newEffect returns what an act would change: the level and the rooms, before and after. It
// also has the named rooms that keep their colour.
func (d localRequest) newEffect(a *acted, named []int32) *effect {
	out := &effect{}
	changed := map[int32]bool{}
	for _, c := range a.Changes {
		if c.RoomID == nil {
			out.Rooms = append([]roomEffect{{Label: d.T("terms.unit"), Was: d.newColored(c.Was), Is: d.newColored(c.Is)}}, out.Rooms...)
			level := d.newColored(c.Is)
			out.Level = &level
			continue
		}
		changed[*c.RoomID] = true
		out.Rooms = append(out.Rooms, roomEffect{Label: textOrEmpty(c.RoomLabel), Was: d.newColored(c.Was), Is: d.newColored(c.Is)})
	}
	if v, err := d.Verdict(d.r.Context(), d.session.Hospital); err == nil && v != nil {
		for i := range v.Rooms {
			r := &v.Rooms[i]
			for _, id := range named {
				if r.ID == id && !changed[id] && r.Status == acuity.RoomOccupied {
					color := d.newColored(r.Color.String())
					out.Rooms = append(out.Rooms, roomEffect{Label: r.Label, Was: color, Is: color, Stays: true})
				}
			}
		}
		if out.Level == nil {
			level := d.newColored(v.Level.String())
			out.Rooms = append(out.Rooms, roomEffect{Label: d.T("terms.unit"), Was: level, Is: level, Stays: true})
		}
	}
	for _, f := range a.Activated {
		out.Activated = append(out.Activated, f.RoomLabel+": "+d.nameFactor(f.FactorID))
	}
	for _, f := range a.Expired {
		out.Expired = append(out.Expired, f.RoomLabel+": "+d.nameFactor(f.FactorID))
	}
	for _, w := range a.Warnings {
		out.Warnings = append(out.Warnings, strings.TrimSpace(w.Code+" "+w.Path))
	}
	return out
}

// sendIf sends a change of a thing that may not exist. Without a version it must not exist.
func (d localRequest) sendIf(method, path, version string, body, into any) (refused *apicall.Refusal, ok bool) {
	return d.send(method, path, cmp.Or(version, notThere), body, into)
}
