package web

import (
	"context"
	"testing"
	"time"

	"svc/acuity"
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
