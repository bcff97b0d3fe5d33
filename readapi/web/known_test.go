package web_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/score"
	"svc/readapi"
)

var anyTag = regexp.MustCompile(`<[^>]*>`)

// readWords returns the text of the part of a page between two strings.
func readWords(page, from, to string) string {
	_, page, _ = strings.Cut(page, from)
	if to != "" {
		page, _, _ = strings.Cut(page, to)
	}
	return strings.Join(strings.Fields(html.UnescapeString(anyTag.ReplaceAllString(page, " "))), " ")
}

// TestPagesStateWhatIsKnown compares the page of a unit, the wall display, the downtime sheet and the list of units
// with the API's verdict, for units without data, with some data, and with all data. No level, count or sentence may
// state something that is unknown in the verdict.
func TestPagesStateWhatIsKnown(t *testing.T) {
	for _, staffed := range []bool{false, true} {
		for _, counted := range []bool{false, true} {
			for _, rostered := range []bool{false, true} {
				for _, occupied := range []int{0, 2, 23} {
					w := newWard(t, partlyKnown(staffed, counted, rostered, occupied))
					v := score.Judge(w.charts["north"], acuity.At(half))
					w.forms = usual
					t.Run(fmt.Sprintf("staffed=%t counted=%t rostered=%t rooms=%d", staffed, counted, rostered, occupied), func(t *testing.T) {
						for _, path := range []string{"/app", "/board", "/app/print", "/app/units"} {
							_, page := w.page(path, "en")
							checkHeadline(t, path, page, &v)
						}
						_, page := w.page("/app", "en")
						checkMeasures(t, page, &v)
					})
				}
			}
		}
	}
}

// partlyKnown returns a unit for which only some of the data is known.
func partlyKnown(staffed, counted, rostered bool, occupied int) *acuity.Chart {
	c := unit()
	if !staffed {
		c.Unit.Staffing = nil
	}
	c.Unit.HasCensus = counted
	if rostered {
		c.Unit.Roster = &acuity.Roster{AsOf: ago(time.Hour), Nurses: []acuity.RosterNurse{{ExternalID: "n1", Skill: 2}, {ExternalID: "n2", Skill: 1}}}
	}
	for i, r := range c.Rooms {
		if i >= occupied {
			c.Rooms[i] = bed(r.ID, r.Label, r.Area, "empty")
		}
	}
	return c
}

// headlines maps the path of each page to the strings before and after the page's headline.
var headlines = map[string][2]string{"/app": {`id="level"`, "<main"}, "/board": {`id="level"`, "<main"}, "/app/print": {`<p class="sum">`, "</p>"}, "/app/units": {`id="u-north"`, "</tr>"}}

func checkHeadline(t *testing.T, path, page string, v *score.Verdict) {
	t.Helper()
	words := readWords(page, headlines[path][0], headlines[path][1])
	level := map[acuity.Level]string{0: "Green", 1: "Yellow", 2: "Orange", 3: "Red"}[v.Level]
	capacity, skill := v.Axes[acuity.AxisCapacity].Known, v.Axes[acuity.AxisSkill].Known
	incomplete := v.OnDuty < 0 || !capacity
	if !strings.Contains(words, level) || strings.Contains(words, "Green?") != (level == "Green" && incomplete) {
		t.Errorf("%s says %q of %s", path, words, level)
	}
	if said := strings.Contains(words, "Incomplete"); said != (incomplete && v.Level < acuity.LevelRed) {
		t.Errorf("%s says %q: incomplete %t", path, words, incomplete)
	}
	if strings.Contains(words, "All measures are within limits") && (incomplete || !skill && !strings.Contains(words, "skill mix unknown")) {
		t.Errorf("%s says %q", path, words)
	}
	short := regexp.MustCompile(`Short:? ([0-9]+)`).FindStringSubmatch(words)
	switch {
	case path == "/app/units":
		if strings.Contains(words, " ? ") != (v.OnDuty < 0) {
			t.Errorf("%s says %q of %d nurses on duty", path, words, v.OnDuty)
		}
	case v.OnDuty < 0:
		if short != nil || !strings.Contains(words, "On duty") || !strings.Contains(words, "unknown") {
			t.Errorf("%s says %q, but the nurses on duty not reported", path, words)
		}
	case short == nil || short[1] != strconv.Itoa(int(v.Shortfall)):
		t.Errorf("%s says %q: %d short", path, words, v.Shortfall)
	}
}

// checkMeasures checks that measures that are unknown, or green although the nurses on duty are unknown, are shown
// without a level, and that the form for the nurses on duty has the current values.
func checkMeasures(t *testing.T, page string, v *score.Verdict) {
	t.Helper()
	_, list, _ := strings.Cut(page, `<ol class="axes">`)
	list, _, _ = strings.Cut(list, "</ol>")
	unknown := 0
	for a := range acuity.Axis(acuity.AxisCount) {
		partial := v.OnDuty < 0 && (a == acuity.AxisCritical || a == acuity.AxisFlow) && v.Axes[a].Level == acuity.LevelGreen
		if !v.Axes[a].Known || partial {
			unknown++
		}
	}
	if marks := strings.Count(list, `<span class="tag none">`); marks != unknown {
		t.Errorf("%d measures are marked as not known, %d are", marks, unknown)
	}
	_, form, _ := strings.Cut(page, `name="nurses"`)
	form, _, _ = strings.Cut(form, "</form>")
	want, call := `value=""`, `<option value="" selected>`
	if v.OnDuty >= 0 {
		want = fmt.Sprintf(`value="%d"`, v.OnDuty)
	}
	if v.Call == acuity.Yes {
		call = `<option value="yes" selected>`
	}
	if !strings.Contains(form, want) || !strings.Contains(form, call) {
		t.Errorf("the form of the nurses on duty is %q, want %s and %s", form, want, call)
	}
}

// TestFormHoldsWhatHolds: the form for the nurses on duty contains the current values, even after they change.
func TestFormHoldsWhatHolds(t *testing.T) {
	w := newWard(t, unit())
	for _, tt := range []struct {
		nurses int32
		call   acuity.Tristate
		want   []string
	}{
		{7, acuity.No, []string{`data-now="7 no"`, `value="7"`, `<option value="no" selected>`}},
		{0, acuity.Yes, []string{`data-now="0 yes"`, `value="0"`, `<option value="yes" selected>`}},
		{3, acuity.Unsaid, []string{`data-now="3 "`, `value="3"`, `<option value="" selected>`}},
	} {
		w.charts["north"].Unit.Staffing = []acuity.Staffing{{AsOf: ago(time.Hour), Nurses: tt.nurses, Call: tt.call}}
		_, page := w.page("/app", "en")
		for _, want := range tt.want {
			if !strings.Contains(page, want) {
				t.Errorf("%d nurses, %v: the form lacks %s", tt.nurses, tt.call, want)
			}
		}
	}
}

// TestFeedsStateWhatIsKnown: if the data about the feeds cannot be read, no page claims that no feed has sent data.
func TestFeedsStateWhatIsKnown(t *testing.T) {
	const none, unknown = "No feed has sent data yet", "Time of the last data is unknown"
	for name, tt := range map[string]struct {
		known bool
		feeds []readapi.Feed
		want  string
	}{
		"none yet": {true, nil, none},
		"unknown":  {false, nil, unknown},
		"before":   {false, []readapi.Feed{{Channel: "adt", LastReceived: half}}, "ADT"},
		"known":    {true, []readapi.Feed{{Channel: "adt", LastReceived: half}}, "ADT"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWard(t, unit())
			w.forms = usual
			w.addChange(func(u *readapi.Unit) { u.Feeds, u.FeedsUnknown = tt.feeds, !tt.known })
			for _, path := range []string{"/app", "/board", "/app/print"} {
				_, page := w.page(path, "en")
				for _, sentence := range []string{none, unknown, "ADT"} {
					if strings.Contains(page, sentence) != (sentence == tt.want) {
						t.Errorf("%s says %q: %t", path, sentence, sentence != tt.want)
					}
				}
			}
			_, page := w.page("/app/units", "en")
			words := readWords(page, `id="u-north"`, "</tr>")
			if never := strings.HasSuffix(words, "no data yet"); never != (tt.want == none) || strings.HasSuffix(words, "unknown") != (tt.want == unknown) {
				t.Errorf("the list of hospitals says %q", words)
			}
		})
	}
}

// TestPastFactors: a factor that currently has no demand is shown only in the table of its room.
func TestPastFactors(t *testing.T) {
	c := unit()
	// The newborn has been with its mother for 50 hours, and there has been no update since.
	c.Rooms[17] = bed(18, "P12", "Postpartum", "pp-couplet@50h", "nb-stabilization@50h")
	w := newWard(t, c)
	for _, path := range []string{"/app", "/app/print", "/board"} {
		_, page := w.page(path, "en")
		if _, page, _ = strings.Cut(page, "P12"); strings.Contains(page[:200], "Newborn") {
			t.Errorf("%s: %s", path, page[:200])
		}
		if path == "/app" && strings.Contains(page, `class="r green stale"`) {
			t.Error("the room is marked as not updated")
		}
	}
	_, page := w.page("/app/rooms/18", "en")
	row := readWords(page, "nb-stabilization</span>", "</tr>")
	if !strings.HasPrefix(row, "no longer active 1 ") {
		t.Errorf("the room says %q", row)
	}
	v := score.Judge(c, acuity.At(half))
	if v.Quality.Has("evidence_stale") || v.Rooms[17].Stale {
		t.Error("a factor that asks for nothing makes the room stale")
	}
	c.Rooms[17] = bed(18, "P12", "Postpartum", "pp-couplet@50h", "nb-stabilization@20m")
	if _, page = w.page("/app", "en"); !strings.Contains(page, "Newborn transition") {
		t.Error("a newborn in transition is not on its tile")
	}
}

// drawnHours are hours with randomly drawn levels and numbers of nurses on duty.
type drawnHours []readapi.TrendHour

func (d drawnHours) Trends(_ context.Context, _ string, since, _ time.Time) (*readapi.Trends, error) {
	t := &readapi.Trends{Since: since.Truncate(time.Hour), Until: half.Truncate(time.Hour), Zone: time.UTC}
	for _, h := range d {
		if h.At.After(t.Since) {
			t.Hours = append(t.Hours, h)
		}
	}
	for i := range t.Hours {
		for level, n := range t.Hours[i].Levels.Minutes {
			t.Levels.Minutes[level] += n
		}
	}
	return t, nil
}

// TestTrendsStateWhatIsKnown: for any recorded hours, the page counts an hour as short or covered only if the number
// of nurses on duty in that hour is known. It counts the time of an hour as green only if that number is known at the
// beginning and the end of the hour.
func TestTrendsStateWhatIsKnown(t *testing.T) {
	w := newWard(t, unit())
	rapid.Check(t, func(r *rapid.T) {
		var hours drawnHours
		staffed, short, green := 0, 0, 0
		known := rapid.SampledFrom([]int{0, 1, 5, 9}).Draw(r, "of nine hours known")
		before := true
		for i := range 24 {
			h := readapi.TrendHour{Hour: readapi.Hour{
				At: half.Truncate(time.Hour).Add(time.Duration(i-23) * time.Hour), Observed: true, OnDuty: -1,
				Required: catalogue.Demand(rapid.IntRange(0, 9).Draw(r, "needed")) * catalogue.Nurse, Level: acuity.LevelGreen,
			}}
			h.Levels.Minutes[acuity.LevelGreen] = 60
			if rapid.IntRange(1, 9).Draw(r, "die") <= known {
				h.OnDuty = 4
				if staffed++; h.Shortfall() > 0 {
					short++
				}
				if before {
					green++
				}
			}
			before = h.OnDuty >= 0
			hours = append(hours, h)
		}
		w.trends = hours
		status, page := w.page("/app/trends", "en")
		words := readWords(page, "<main", "<details")
		if status != http.StatusOK {
			r.Fatal(status)
		}
		if says := strings.Contains(words, "reported Thick"); says != (staffed == 0) {
			r.Fatalf("%d hours with nurses on duty: %s", staffed, words)
		}
		if staffed > 0 && staffed < 24 && !strings.Contains(words, fmt.Sprintf("(%d of 24 h: no staffing data)", 24-staffed)) {
			r.Fatalf("%d hours with nurses on duty: %s", staffed, words)
		}
		want := fmt.Sprintf("Short-staffed in %d of %d hours with staffing data", short, staffed)
		if short == 0 {
			want = "Staffed to need in"
		}
		if staffed > 0 && !strings.Contains(words, want) {
			r.Fatalf("short in %d of %d hours: %s", short, staffed, words)
		}
		want = fmt.Sprintf("Green %d h", green)
		if green == 0 {
			want = "Level unknown: nurses on duty were not reported"
		}
		if !strings.Contains(words, want) || green < 24 && green > 0 && !strings.Contains(words, fmt.Sprintf("unknown %d h", 24-green)) {
			r.Fatalf("green and known in %d hours: %s", green, words)
		}
	})
}
