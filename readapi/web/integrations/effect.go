package integrations

import (
	"slices"
	"strings"

	"svc/acuity"
)

// acted is the effect of an act or a dry run on the verdict, in an API response.
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

// effect is the change that an act would currently make.
type effect struct {
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

// colored is a color with its shape and its name.
type colored struct{ Class, Shape, Word string }

func newColored(d *adminRequest, color string) colored {
	shape := map[string]string{"green": "g", "yellow": "y", "orange": "o", "red": "r"}[color]
	return colored{color, shape, d.Or("color."+color, color)}
}

// newEffect returns the change that an act would make: the level and the rooms, before and after. It also lists the
// level if it would not change, and those occupied rooms in named whose color would not change.
func newEffect(d *adminRequest, a *acted, named []int32) *effect {
	out := &effect{}
	changed, leveled := map[int32]bool{}, false
	for _, c := range a.Changes {
		was, is := newColored(d, c.Was), newColored(d, c.Is)
		if c.RoomID == nil {
			out.Rooms = append([]roomEffect{{Label: d.T("terms.unit"), Was: was, Is: is}}, out.Rooms...)
			leveled = true
			continue
		}
		changed[*c.RoomID] = true
		out.Rooms = append(out.Rooms, roomEffect{Label: textOrEmpty(c.RoomLabel), Was: was, Is: is})
	}
	stays := func(label, color string) {
		is := newColored(d, color)
		out.Rooms = append(out.Rooms, roomEffect{Label: label, Was: is, Is: is, Stays: true})
	}
	if v, err := d.Verdict(d.r.Context(), d.session.Hospital); err == nil && v != nil {
		for i := range v.Rooms {
			r := &v.Rooms[i]
			if r.Status == acuity.RoomOccupied && slices.Contains(named, r.ID) && !changed[r.ID] {
				stays(r.Label, r.Color.String())
			}
		}
		if !leveled {
			stays(d.T("terms.unit"), v.Level.String())
		}
	}
	for _, f := range a.Activated {
		out.Activated = append(out.Activated, f.RoomLabel+": "+nameFactor(d, f.FactorID))
	}
	for _, f := range a.Expired {
		out.Expired = append(out.Expired, f.RoomLabel+": "+nameFactor(d, f.FactorID))
	}
	for _, w := range a.Warnings {
		out.Warnings = append(out.Warnings, strings.TrimSpace(w.Code+" "+w.Path))
	}
	return out
}
