package web_test

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/forecast"
	"svc/internal/admin/users"
	"svc/readapi"
)

var update = flag.Bool("update", false, "write the golden files anew")

// states maps the name of each tested state of a unit to a function that puts the ward into that state.
var states = map[string]func(*ward){
	"usual":    func(*ward) {},
	"drawn":    func(w *ward) { w.layouts["north"] = drawn() },
	"norecord": func(w *ward) { w.charts = map[string]*acuity.Chart{} },
	"empty": func(w *ward) {
		c := w.charts["north"]
		for i, r := range c.Rooms {
			c.Rooms[i] = bed(r.ID, r.Label, r.Area, "empty")
		}
		c.Unit.Unplaced = 0
	},
	"unstaffed": func(w *ward) { w.charts["north"].Unit.Staffing = nil },
	"unstaffedgreen": func(w *ward) {
		c := w.charts["north"]
		c.Unit.Staffing, c.Rooms, c.Unit.Unplaced = nil, c.Rooms[1:2], 0
	},
	"uncounted": func(w *ward) { w.charts["north"].Unit.HasCensus = false },
	"stopped": func(w *ward) {
		w.addChange(func(u *readapi.Unit) { u.Stopped = u.At.Add(-30*time.Minute + time.Second) })
	},
	"old":    func(w *ward) { w.addChange(func(u *readapi.Unit) { u.Stopped = u.At.Add(-30 * time.Minute) }) },
	"behind": func(w *ward) { w.err = readapi.ErrBehind },
	"away":   func(w *ward) { w.err = readapi.ErrAway },
	"40":     func(w *ward) { w.charts["north"] = rooms(40) },
	"120":    func(w *ward) { w.charts["north"] = rooms(120) },
	"young": func(w *ward) {
		w.addChange(func(u *readapi.Unit) {
			u.Forecast, u.Missing = nil, &forecast.InsufficientError{Missing: forecast.MissingHistory, Hours: 9}
		})
	},
	"silent": func(w *ward) { w.addChange(func(u *readapi.Unit) { u.Feeds = []readapi.Feed{{Channel: "adt"}} }) },
}

// addChange applies the function do to the unit data, after all earlier changes.
func (w *ward) addChange(do func(*readapi.Unit)) {
	before := w.forms
	w.forms = func(u *readapi.Unit) { before(u); do(u) }
}

// inState returns a ward in one of the states.
func inState(t testing.TB, name string) *ward {
	w := newWard(t, unit())
	w.forms = usual
	states[name](w)
	w.alsoIn(users.User{ID: "usr_1", Hospital: "south", Role: users.Viewer})
	return w
}

var (
	assetPath = regexp.MustCompile(`/assets/[0-9a-f]{16}/`)
	ruleName  = regexp.MustCompile(`Rules [0-9]+-[0-9a-f]+|Reglas [0-9]+-[0-9a-f]+`)
)

// TestGolden compares each page of the usual unit in English with a reviewed golden file. The golden file of any
// other tested state or language contains only lines that differ from that page.
func TestGolden(t *testing.T) {
	for name := range states {
		for _, path := range []string{"/board", "/app", "/app/rooms/13", "/app/print"} {
			for _, language := range []string{"en", "es"} {
				if language == "es" && name != "usual" && name != "stopped" {
					continue
				}
				page := strings.Trim(strings.ReplaceAll(path, "/", "_"), "_")
				t.Run(name+"/"+page+"/"+language, func(t *testing.T) {
					_, html := inState(t, name).page(path, language)
					if name == "usual" && language == "en" {
						golden(t, page+".html", html)
						return
					}
					if name == "40" || name == "120" {
						html = planClass.FindString(html)
					}
					_, whole := inState(t, "usual").page(path, "en")
					golden(t, name+"_"+page+"_"+language+".html", listDifferent(html, whole))
				})
			}
		}
	}
	w := inState(t, "usual")
	w.charts["south"] = rooms(30)
	_, html := w.page("/app/units", "en")
	golden(t, "units.html", html)
}

// planClass matches the arrangement of the rooms on a floor plan.
var planClass = regexp.MustCompile(`<div class="plan [^"]*"`)

// mostDifferent is the maximum number of lines in a golden file of differences. The file contains the first differing
// lines, which include the level at the top of the page.
const mostDifferent = 40

// listDifferent returns the lines of the page html that the page other does not contain, up to mostDifferent lines.
func listDifferent(html, other string) string {
	have := map[string]bool{}
	for line := range strings.Lines(splitTags(other)) {
		have[strings.TrimSpace(line)] = true
	}
	var lines []string
	for line := range strings.Lines(splitTags(html)) {
		if line = strings.TrimSpace(line); !have[line] && len(lines) < mostDifferent {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// splitTags puts each tag and each figure on a separate line.
func splitTags(html string) string {
	html = figures.ReplaceAllStringFunc(ruleName.ReplaceAllString(assetPath.ReplaceAllString(html, "/assets/x/"), "Rules x"), func(svg string) string {
		return strings.ReplaceAll(svg, "><", "> <")
	})
	return strings.ReplaceAll(html, "><", ">\n<")
}

var figures = regexp.MustCompile(`(?s)<svg.*?</svg>(</svg>)?`)

func golden(t *testing.T, name, html string) {
	t.Helper()
	html = splitTags(html) + "\n"
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(html), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != html {
		t.Errorf("%s differs (%v); run go test ./readapi/web -update and look at it", path, err)
	}
}

// TestNoGreenThatIsNotKnown: if the state of a unit or its nurses on duty are unknown, the unit's page does not
// present the unit as green without a qualification.
func TestNoGreenThatIsNotKnown(t *testing.T) {
	for name, want := range map[string]struct {
		status int
		says   string // text that the page must contain
		never  string
	}{
		"norecord":       {http.StatusOK, "No data yet", `class="level green`},
		"away":           {http.StatusServiceUnavailable, "The unit status is unavailable", `class="level`},
		"behind":         {http.StatusServiceUnavailable, "The unit status is unavailable", `class="level`},
		"stopped":        {http.StatusOK, `data-held="stopped"`, `hidden>Input stopped`},
		"old":            {http.StatusOK, `data-held="old"`, `hidden>Input stopped`},
		"unstaffedgreen": {http.StatusOK, `class="level green unsure"`, "0 short"},
		"unstaffed":      {http.StatusOK, `Short</dt><dd class="unk">unknown`, "Short</dt><dd>"},
	} {
		t.Run(name, func(t *testing.T) {
			status, html := inState(t, name).page("/app", "en")
			if status != want.status || !strings.Contains(html, want.says) || strings.Contains(html, want.never) {
				t.Errorf("status %d; says %q: %v; says %q: %v", status, want.says, strings.Contains(html, want.says), want.never, strings.Contains(html, want.never))
			}
		})
	}
}

// TestWallShowsNoPatientData: in every state, the wall display shows no factor, visit or link.
func TestWallShowsNoPatientData(t *testing.T) {
	for name := range states {
		w := inState(t, name)
		_, html := w.page("/board", "en")
		for f := catalogue.Factor(1); int(f) <= catalogue.Default().Len(); f++ {
			if strings.Contains(html, f.ID()) {
				t.Errorf("%s: the wall tells of %s", name, f.ID())
			}
		}
		for _, word := range []string{"canary", "href=\"/app/rooms", "Couplet", "Magnesium", "Bereavement", "RxNorm", "Category"} {
			if strings.Contains(html, word) {
				t.Errorf("%s: the wall tells %s", name, word)
			}
		}
		if strings.Contains(html, `<a `) {
			t.Errorf("%s: the wall has a link", name)
		}
	}
}

// TestAnotherHospital: a person with access to several hospitals sees each of them under its own path, and the links
// on the page stay within that hospital. A hospital to which the person has no access is not found.
func TestAnotherHospital(t *testing.T) {
	w := inState(t, "usual")
	w.charts["south"] = rooms(30)
	status, html := w.page("/app/u/south", "en")
	if status != http.StatusOK || !strings.Contains(html, "<b>Maternity south</b>") || !strings.Contains(html, `href="/app/u/south/rooms/30"`) || !strings.Contains(html, `data-events="/app/u/south/events"`) {
		t.Errorf("the page of another hospital: %d", status)
	}
	if strings.Contains(html, `href="/app/rooms/`) {
		t.Error("links of another hospital lead to one's own")
	}
	if status, html = w.page("/app/u/south/rooms/30", "en"); status != http.StatusOK || !strings.Contains(html, `<a href="/app/u/south">`) {
		t.Errorf("a room of another hospital: %d", status)
	}
	w.charts["west"] = unit()
	for _, path := range []string{"/app/u/west", "/app/u/west/rooms/1", "/app/u/west/events", "/app/u/nowhere", "/app/u/%2e%2e", "/app/u/"} {
		if status, html := w.page(path, "en"); status != http.StatusNotFound || strings.Contains(html, "west") {
			t.Errorf("%s: %d", path, status)
		}
	}
}
