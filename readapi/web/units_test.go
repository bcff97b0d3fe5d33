package web

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/score"
	"svc/readapi"
	"svc/readapi/web/page"
	"svc/readapi/web/text"
)

// hastyUnits returns an error if the caller has disconnected, like a view that is read over a network.
type hastyUnits struct{ *fakeUnits }

func (h hastyUnits) Unit(ctx context.Context, hospital string) (*readapi.Unit, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return h.fakeUnits.Unit(ctx, hospital)
}

// TestViewerLeaves: if a viewer leaves the page of all hospitals while a hospital is being read, that hospital does
// not become unknown for other viewers.
func TestViewerLeaves(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	p.config.Reads = hastyUnits{p.units}
	all := newSummaries(&p.config)
	gone, leave := context.WithCancel(t.Context())
	leave()
	all.readRow(gone, text.In("en"), "north", false)
	if row := all.readRow(t.Context(), text.In("en"), "north", false); row.Class != "green" {
		t.Errorf("%+v", row)
	}
}

// TestNoticeAfterReading: if a change is reported just after a hospital was read, the next read may be too early to
// include the change. The change is then still pending, and a read a second later includes it.
func TestNoticeAfterReading(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	all := newSummaries(&p.config)
	read := func() []*unitRow { return all.readRows(t.Context(), text.In("en"), []string{"north"}, true) }
	if got := read()[0].Class; got != "green" {
		t.Fatal(got)
	}
	p.units.err = readapi.ErrAway
	p.Time = p.Time.Add(100 * time.Millisecond)
	noticed := map[string]time.Time{"north": p.Now()}
	p.Time = p.Time.Add(100 * time.Millisecond)
	if removeShown(noticed, read()); len(noticed) != 1 { // too early for another read
		t.Fatal("the notice is gone, and the row shows the state before it")
	}
	p.Time = p.Time.Add(time.Second)
	rows := read()
	if removeShown(noticed, rows); rows[0].Class != "none" || len(noticed) != 0 {
		t.Errorf("a second later: %s, %v", rows[0].Class, noticed)
	}
}

// TestRowsStateWhatIsKnown: a hospital without data has no data yet. If a hospital cannot be read, its row does not
// claim anything about its data, and neither row claims that a forecast is missing.
func TestRowsStateWhatIsKnown(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	all := newSummaries(&p.config)
	for err, feeds := range map[error]string{readapi.ErrNoUnit: "no data yet", readapi.ErrAway: "?"} {
		row := all.newRow(text.In("en"), "north", nil, err)
		if row.Word != "Unknown" || row.Class != "none" || row.Needed+row.OnDuty+row.Short+row.Peak != "????" || row.Feeds != feeds || !row.Silent {
			t.Errorf("%v: %+v", err, row)
		}
	}
}

// TestNoHelpFitsTheUnit: the text for a unit that no option would help mentions a shortage only if nurses are short,
// and states that there is none only if the nurses on duty are known.
func TestNoHelpFitsTheUnit(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]score.Verdict{
		"The unit is not short of nurses.":                                          {OnDuty: 5},
		"No available option would improve the level.":                              {OnDuty: 5, Level: acuity.LevelYellow},
		"No available option would improve the level or reduce the nurse shortage.": {OnDuty: 5, Shortfall: 2, Level: acuity.LevelOrange},
		text.In("en").T("help.unstaffed"):                                           {OnDuty: -1, Level: acuity.LevelGreen},
	} {
		if got := explainNoHelp(text.In("en"), &v); got != want {
			t.Errorf("%+v: %q, want %q", v, got, want)
		}
	}
}

// TestNeedExplainsShortage: a demand slightly above a whole number is never rounded down to that number, because that
// number of nurses would then seem sufficient.
func TestNeedExplainsShortage(t *testing.T) {
	t.Parallel()
	p := &writer{&page.Writer{Texts: text.In("en")}}
	for need, want := range map[float64]string{16: "16.0", 16.0000000001: "16.0", 16.01: "16.1", 16.05: "16.1", 15.96: "16.0", 0.3333: "0.3"} {
		if got := p.formatNeed(need); got != want {
			t.Errorf("%v: %s, want %s", need, got, want)
		}
	}
}

// TestLeftFitsNeed: the nurses left and the nurses needed, both with one decimal, add up to the nurses on duty, and
// a number that is rounded to 0 has no sign.
func TestLeftFitsNeed(t *testing.T) {
	t.Parallel()
	p := &writer{&page.Writer{Texts: text.In("en")}}
	for sixtieths := range catalogue.Demand(4 * 60) {
		needed, left := p.formatNurses(sixtieths), formatLeft(p.Texts, 2-nursesOf(sixtieths))
		n, err := strconv.ParseFloat(needed, 64)
		l, err2 := strconv.ParseFloat(left, 64)
		if err != nil || err2 != nil || math.Abs(n+l-2) > 1e-9 || left == "-0.0" {
			t.Errorf("%d sixtieths with 2 on duty: %s needed, %s left", sixtieths, needed, left)
		}
	}
	if got := p.FormatNumber(-0.04, 1); got != "0.0" {
		t.Errorf("-0.04 is %s", got)
	}
}

// TestMeasuresInTheSingular: each measure with a count has a sentence for one and a sentence for several.
func TestMeasuresInTheSingular(t *testing.T) {
	t.Parallel()
	for language, want := range map[string][]string{
		"en": {"40 points for 1 nurse", "1 admission, transfer, or discharge in 2 h; 0 boarding", "1 nurse: 0 novice, 1 expert; heaviest assignment 0.00"},
		"es": {"40 puntos para 1 enfermera", "1 ingreso, traslado o alta en 2 h; 0 en espera de cama", "1 enfermera (principiantes: 0; "},
	} {
		w := &writer{&page.Writer{Texts: text.In(language)}}
		at := acuity.At(noon)
		labor, _ := catalogue.FactorByID("csection-intraop")
		c := &acuity.Chart{Unit: acuity.UnitChart{
			Clock: at, HasCensus: true, TotalRooms: 1, Staffing: []acuity.Staffing{{AsOf: at, Nurses: 1}}, Moves: []acuity.Instant{at},
			Roster: &acuity.Roster{AsOf: at, Nurses: []acuity.RosterNurse{{ExternalID: "n1", Skill: 2}}},
		}, Rooms: []acuity.RoomChart{{ID: 1, Status: acuity.RoomOccupied, Listed: true, Patients: []acuity.PatientChart{{
			Mother: true, Arrived: at, Evidence: []acuity.Evidence{{Factor: labor, Kind: acuity.ByADT, Start: at, Last: at}},
		}}}}}
		v := score.Judge(c, at)
		for i, axis := range []acuity.Axis{acuity.AxisAcuity, acuity.AxisFlow, acuity.AxisSkill} {
			got := w.describeAxis(&v, axis)
			if axis == acuity.AxisAcuity {
				_, after, _ := strings.Cut(got, " ")
				got = "40 " + after
			}
			if !strings.HasPrefix(got, want[i]) {
				t.Errorf("%s: %q, want %q", language, got, want[i])
			}
		}
	}
}

// TestMeasuresSayWhy: if the numbers of a measure do not show why it has its level, its text does.
func TestMeasuresSayWhy(t *testing.T) {
	t.Parallel()
	shown := []string{ // conditions on the numbers of the text
		"within_limits", "unknown", "shortfall", "coverage", "no_nurse", "one_to_one", "c4", "c4_one_to_one", "slack", "occupancy", "open_zero",
		"open_zero_waiting", "score", "turnover", "boarders", "novices", "no_expert", "load",
	}
	for axis := range acuity.Axis(acuity.AxisCount) {
		for _, rule := range score.ListRules(axis) {
			for _, language := range []string{"en", "es"} {
				if says := explainAxis(text.In(language), rule) != ""; says == slices.Contains(shown, rule) {
					t.Errorf("%s, %s: the text explains it: %t", language, rule, says)
				}
			}
		}
	}
	p := &writer{&page.Writer{Texts: text.In("en")}}
	v := &score.Verdict{OnDuty: 3}
	v.Axes[acuity.AxisSkill] = score.AxisVerdict{Known: true, Level: acuity.LevelRed, Rule: "novices_alone"}
	if got := p.listAxes(v)[0].Detail; !strings.HasSuffix(got, "; a STAT room is assigned only to novices") {
		t.Error(got)
	}
}
