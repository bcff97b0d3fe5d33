package alert

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/acuity/score"
)

// Rooms is the state of the unit's rooms.
type Rooms struct {
	Open int // empty rooms that can take a patient
	Top  []Room
	Peak *Peak // nil: no forecast
}

// Room is one of the rooms with the highest score.
type Room struct {
	ID      int32
	Label   string // as the feeds send it
	Color   acuity.Color
	Nursing string // "1:2"
}

// Peak is the instant at which the most nurses are expected to be needed.
type Peak struct {
	At     time.Time
	Nurses float64 // 90th percentile of the nurses needed
}

// MaxTop bounds the rooms that an alert names.
const MaxTop = 3

// Forecasts gives the learned forecast of a hospital.
type Forecasts interface {
	Model(ctx context.Context, hospital string) (*forecast.Model, error)
	Zone(hospital string) *time.Location
}

// ExpectPeak returns the peak of the forecast that GET /api/v1/predict answers. nil: there is too
// little history, or the model does not arrive in time.
func ExpectPeak(ctx context.Context, learned Forecasts, chart *acuity.Chart, at acuity.Instant) *Peak {
	model, err := learned.Model(ctx, chart.Hospital)
	if err != nil {
		return nil
	}
	f, err := forecast.Predict(model, forecast.UnitOf(chart, at, learned.Zone(chart.Hospital)))
	if err != nil {
		return nil
	}
	return &Peak{At: f.Peak.At.Time(), Nurses: f.Peak.P90}
}

// SumRooms counts the open rooms and picks those with the highest score.
func SumRooms(rooms []score.RoomVerdict) *Rooms {
	s := &Rooms{}
	slices.SortStableFunc(rooms, func(a, b score.RoomVerdict) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	for i := range rooms {
		r := &rooms[i]
		if r.Status == acuity.RoomEmpty {
			s.Open++
		}
		if r.Color != acuity.ColorGray && len(s.Top) < MaxTop {
			s.Top = append(s.Top, Room{ID: r.ID, Label: r.Label, Color: r.Color, Nursing: r.Demand.Nursing()})
		}
	}
	return s
}

// maxLabel is the maximal number of characters of a label that is shown.
const maxLabel = 24

// Name returns the room's name in alerts: its label, or its number where the label
// could be more than a label.
//
// Some sites write the patient's name where the label belongs. No rule knows all
// names, so this one knows rooms. A word of letters alone may be one of [placeWords]
// or a single letter. It may also have up to three capitals, if the label has a digit
// ("PP-12A", "MBU 4"). A room named after a flower is shown by its number, like a
// third of the first names of this country. One fault remains: a short surname in
// capitals with a number behind it. Nobody can tell "LEE 4" from "HRU 4".
func (r *Room) Name() string {
	if isLabel(r.Label) {
		return r.Label
	}
	return "Room " + strconv.Itoa(int(r.ID))
}

func isLabel(text string) bool {
	if text == "" || len(text) > maxLabel {
		return false
	}
	digits := strings.ContainsAny(text, "0123456789")
	known := digits
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(" ./-&#()+", c) }) {
		letters, ascii := count(word)
		lower := strings.ToLower(word)
		switch {
		case !ascii:
			return false
		case letters < len(word): // a word with a digit is no name
		case placeWords[lower]:
			known = true
		case letters == 1:
		case letters <= 3 && digits && strings.ToUpper(word) == word:
		default:
			return false
		}
	}
	return known // initials alone are not a label
}

// count returns the number of letters in a word, and whether it has only ASCII
// letters and digits.
func count(word string) (letters int, ascii bool) {
	for _, c := range word {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			letters++
		case c < '0' || c > '9':
			return 0, false
		}
	}
	return letters, true
}

// placeWords are the words in room labels: units, kinds of room, furniture,
// directions. The list is ours. It has no words that are common as names (Rose, Lily,
// Hope, Grace), except directions and colors.
var placeWords = func() map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(`
		room rooms rm bed bay chair crib cot bassinet isolette stretcher cubicle station space slot pod suite ste hall hallway
		corridor unit ward wing floor fl level tower building bldg annex area zone side
		labor labour delivery birth birthing maternity mother mom baby couplet family women womens obstetric obstetrics ob gyn obgyn
		ante antepartum antenatal perinatal post postpartum partum postnatal ap pp ld ldr ldrp ldrpr mbu rooming
		triage tri trg obt obtri obed assessment evaluation eval observation obs admission admit intake waiting wait holding hold
		overflow virtual temp temporary extra flex float surge discharge lounge lobby transfer
		recovery rec pacu pre preop postop op procedure proc operating theatre theater or ors section csection cesarean caesarean
		surgery surgical sdu hdu icu nicu scn nursery newborn nb well special care isolation iso high risk low mfm testing test nst
		ultrasound exam clinic er ed emergency tub water private semi double single
		north south east west upper lower main front back left right center centre inner outer new old
		red blue green yellow orange purple pink gold silver white black gray grey
		first second third fourth and of the to for no`) {
		all[word] = true
	}
	return all
}()
