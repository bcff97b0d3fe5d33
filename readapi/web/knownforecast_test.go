package web_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/acuity/help"
	"svc/acuity/score"
	"svc/readapi"
	"svc/readapi/web/text"
)

// drawOutlook draws a random forecast of a unit, as the API could return it. An hour's shortfall is known only if the
// current or planned number of nurses on duty is known. Past hours may be missing.
func drawOutlook(r *rapid.T, v *score.Verdict) (*forecast.Forecast, []acuity.Staffing) {
	f := outlook(float64(v.Required)/60, v.OnDuty)
	f.Calibration.Status = rapid.SampledFrom([]forecast.CalibrationStatus{forecast.Prior, forecast.Learning, forecast.Calibrated}).Draw(r, "calibration")
	var plan []acuity.Staffing
	if minutes := rapid.SampledFrom([]int{0, 20, 90, 268}).Draw(r, "minutes to the plan"); minutes > 0 {
		plan = append(plan, acuity.Staffing{AsOf: f.At.Add(time.Duration(minutes) * time.Minute), Nurses: rapid.Int32Range(0, 25).Draw(r, "planned")})
	}
	for i := range f.Hours {
		h := &f.Hours[i]
		nurses := v.OnDuty
		if len(plan) > 0 && plan[0].AsOf <= h.End {
			nurses = plan[0].Nurses
		}
		if h.ShortfallP50, h.ShortfallP90 = -1, -1; nurses >= 0 {
			missing := func(q int) int32 { return max(0, int32(math.Ceil(h.Nurses[q]-float64(nurses)))) }
			h.ShortfallP50, h.ShortfallP90 = missing(forecast.P50), missing(forecast.P90)
		}
	}
	for i := range f.Points {
		q := &f.Points[i]
		q.Level = acuity.Level(rapid.IntRange(0, 3).Draw(r, "level"))
		q.P = [4]int32{100, 100, 100, 100}
		q.P[q.Level] = 700
	}
	var past []forecast.Measured
	for _, h := range f.Past {
		switch rapid.IntRange(0, 3).Draw(r, "measured") {
		case 0: // the hour was not observed
			continue
		case 1:
			h.Nurses = -1
		}
		past = append(past, h)
	}
	f.Past = past
	return f, plan
}

// TestForecastStatesWhatIsKnown compares what the unit page, the wall display and the list of units say about the
// next eight hours with the API's forecast. The cases include an unknown number of nurses on duty, a plan for later,
// a missing census, and complete data. If a number, color or level of an hour is unknown in the API's forecast, the
// pages do not show it.
func TestForecastStatesWhatIsKnown(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		staffed, counted := rapid.Bool().Draw(r, "staffed"), rapid.Bool().Draw(r, "counted")
		w := newWard(t, partlyKnown(staffed, counted, true, rapid.SampledFrom([]int{0, 2, 23}).Draw(r, "rooms")))
		var u *readapi.Unit
		v := score.Judge(w.charts["north"], acuity.At(half))
		f, plan := drawOutlook(r, &v)
		w.forms = func(now *readapi.Unit) {
			usual(now)
			now.Forecast, now.Plan, now.Help = f, plan, []help.Step{{Kind: help.Clock, At: f.At.Add(time.Hour), Level: acuity.LevelGreen}}
			if rapid.IntRange(0, 9).Draw(r, "no forecast") == 0 {
				now.Forecast = nil
			}
			u = now
		}
		for _, path := range []string{"/app", "/board"} {
			_, page := w.page(path, "en")
			if u.Forecast == nil {
				if _, part, _ := strings.Cut(page, `id="outlook"`); strings.Contains(part, "<svg class=\"chart wide\" viewBox=\"0 0 860") || regexp.MustCompile(`short|covered now`).MatchString(readWords(page, `id="outlook"`, "</section>")) {
					r.Fatalf("%s states a forecast that there is none of", path)
				}
				continue
			}
			checkOutlook(r, path, page, u)
			if path == "/app" {
				few := strings.Contains(readWords(page, `id="outlook"`, "</section>"), "Based on only 600 h of data.")
				if few != (f.Calibration.Status != forecast.Calibrated) {
					r.Fatalf("the forecast is %v, and the page says that there are few data: %t", f.Calibration.Status, few)
				}
				checkOutlookTable(r, page, u)
				checkLevels(r, page, u)
			}
		}
		if _, page := w.page("/app/units", "en"); u.Forecast != nil {
			want := fmt.Sprintf("%s at %s", formatPeak(f.Peak.P90), clockOf(f.Peak.At))
			if words := readWords(page, `id="u-north"`, "</tr>"); !strings.Contains(words, want) {
				r.Fatalf("the list of units says %q, want the peak %q", words, want)
			}
		}
		if _, page := w.page("/app/print", "en"); strings.Contains(page, "likely") || strings.Contains(page, "Next 8 hours") {
			r.Fatal("the downtime sheet, which is read hours later, states a forecast")
		}
	})
}

func clockOf(at acuity.Instant) string { return at.Time().In(chicago).Format("15:04") }

func formatPeak(nurses float64) string {
	if whole := math.Floor(nurses); nurses-whole > 1e-9 && nurses-whole < 0.05 {
		nurses = whole + 0.1
	}
	return strconv.FormatFloat(math.Floor(nurses*10+0.5+1e-9)/10, 'f', 1, 64)
}

var (
	saidLikely = regexp.MustCompile(`(?i)likely ([0-9]+) nurses? short at ([0-9:]+)`)
	saidHigh   = regexp.MustCompile(`(?i)up to ([0-9]+) short at ([0-9:]+) if demand is high`)
	saidFrom   = regexp.MustCompile(`(?i)likely covered from ([0-9:]+)`)
	saidAgain  = regexp.MustCompile(`([0-9]+) short again at ([0-9:]+)`)
	saidNow    = regexp.MustCompile(`(?i)short ([0-9]+) now`)
)

// checkOutlook compares the page's sentence and figure about the next few hours with the forecast.
func checkOutlook(r *rapid.T, path, page string, u *readapi.Unit) {
	begin, end := `id="outlook"`, "</h2>"
	words := readWords(page, begin, end)
	if path == "/board" {
		words = readWords(page, begin, "</p>")
	}
	f, known := u.Forecast, 0
	at := map[string]*forecast.Hour{}
	likely, high := int32(0), int32(0)
	for i := range f.Hours {
		h := &f.Hours[i]
		at[clockOf(h.End)] = h
		if h.ShortfallP50 >= 0 {
			known++
		}
		likely, high = max(likely, h.ShortfallP50), max(high, h.ShortfallP90)
	}
	unstaffed := strings.Contains(strings.ToLower(words), "nurses on duty not reported")
	if unstaffed != (known < len(f.Hours)) {
		r.Fatalf("%s says %q of %d known hours", path, words, known)
	}
	if strings.HasSuffix(words, "not reported") != (known == 0) {
		r.Fatalf("%s says %q of %d known hours", path, words, known)
	}
	if bare := regexp.MustCompile(`\([0-9:]+\)`).FindString(words); bare != "" {
		r.Fatalf("%s says %q: what %s means is unclear", path, words, bare)
	}
	for _, said := range []struct {
		words *regexp.Regexp
		holds func(h *forecast.Hour) int32
	}{
		{saidLikely, func(h *forecast.Hour) int32 { return h.ShortfallP50 }},
		{saidAgain, func(h *forecast.Hour) int32 { return h.ShortfallP50 }},
		{saidHigh, func(h *forecast.Hour) int32 { return h.ShortfallP90 }},
	} {
		for _, m := range said.words.FindAllStringSubmatch(words, -1) {
			if h := at[m[2]]; h == nil || strconv.Itoa(int(said.holds(h))) != m[1] {
				r.Fatalf("%s says %q of %+v", path, words, at[m[2]])
			}
		}
	}
	if m := saidFrom.FindStringSubmatch(words); m != nil && (at[m[1]] == nil || at[m[1]].ShortfallP50 != 0) {
		r.Fatalf("%s says %q of %+v", path, words, at[m[1]])
	}
	now := int32(0)
	if m := saidNow.FindStringSubmatch(words); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			r.Fatal(err)
		}
		now = int32(n)
	}
	if now != max(u.Verdict.Shortfall, 0) {
		r.Fatalf("%s says %q: %d short now", path, words, u.Verdict.Shortfall)
	}
	if bare := strings.Contains(words, "likely covered") || strings.Contains(words, "Likely covered"); bare && saidFrom.FindString(words) == "" && (likely > 0 || known < len(f.Hours)) {
		r.Fatalf("%s says %q: %d likely short, %d known hours", path, words, likely, known)
	}
	if likely > 0 && !strings.Contains(words, fmt.Sprint(likely)) && u.Verdict.Shortfall <= 0 {
		r.Fatalf("%s says %q: %d likely short", path, words, likely)
	}
	figure := part(page, `<svg class="chart wide"`, "</svg>")
	checkBand(r, path, page, figure, u, known)
}

// part returns the HTML of a page between two strings.
func part(page, from, to string) string {
	_, page, _ = strings.Cut(page, from)
	page, _, _ = strings.Cut(page, to)
	return page
}

// checkBand checks that shortfall colors appear only where the number of nurses on duty is known, and that lines for
// past hours appear only where the hours were measured.
func checkBand(r *rapid.T, path, page, figure string, u *readapi.Unit, known int) {
	band := part(part(page, `id="outlook"`, "</section>"), `class="soft">`, "</g>")
	colored := regexp.MustCompile(`class="f[gyor]"`).MatchString(band)
	if colored != (known > 0) || strings.Contains(band, `class="fl"`) != (u.Verdict.OnDuty < 0) {
		r.Fatalf("%s: the band of %d known hours, %d on duty, is %s", path, known, u.Verdict.OnDuty, band)
	}
	if known == 0 && strings.Contains(part(page, `id="outlook"`, "</section>"), `class="duty"`) {
		r.Fatalf("%s draws nurses on duty that are unknown", path)
	}
	if says := strings.Contains(figure, "On duty: unknown"); says != (u.Verdict.OnDuty < 0) {
		r.Fatalf("%s: the description of the figure is %.300s", path, figure)
	}
	runs, hour := 0, int32(-1)
	for _, h := range u.Forecast.Past {
		if int32(h.Hour) != hour+1 {
			runs++
		}
		hour = int32(h.Hour)
	}
	wide := part(part(page, `id="outlook"`, "</section>"), `<svg class="chart wide"`, `<svg class="chart narrow"`)
	if lines := strings.Count(wide, `class="was"`); lines != runs {
		r.Fatalf("%s draws %d lines of %d runs of measured hours", path, lines, runs)
	}
}

// checkOutlookTable checks that the table has the shortfall of each hour, or says that the shortfall is unknown.
func checkOutlookTable(r *rapid.T, page string, u *readapi.Unit) {
	words := part(page, `id="outlook"`, "</section>")
	if says := strings.Contains(words, "The range contained the actual need"); says != (u.Forecast.Calibration.Status != forecast.Prior) {
		r.Fatalf("the page states the accuracy of a forecast: %t, %v", says, u.Forecast.Calibration.Status)
	}
	known := regexp.MustCompile(`Short \(likely\)`).MatchString(words)
	for i := range u.Forecast.Hours {
		h := &u.Forecast.Hours[i]
		row := readWords(words, `<th scope="row">`+clockOf(h.End)+"</th>", "</tr>")
		cells := strings.Fields(row)
		want := 3
		if known {
			want = 5
		}
		if len(cells) != want {
			r.Fatalf("the row of %s is %q", clockOf(h.End), row)
		}
		switch {
		case !known && h.ShortfallP50 >= 0:
			r.Fatalf("the table does not have the shortfall of %s", clockOf(h.End))
		case known && h.ShortfallP50 < 0 && (cells[3] != "unknown" || cells[4] != "unknown"):
			r.Fatalf("the row of %s is %q, the API does not know the shortfall", clockOf(h.End), row)
		case known && h.ShortfallP50 >= 0 && (cells[3] != fmt.Sprint(h.ShortfallP50) || cells[4] != fmt.Sprint(h.ShortfallP90)):
			r.Fatalf("the row of %s is %q, want %d and %d", clockOf(h.End), row, h.ShortfallP50, h.ShortfallP90)
		}
	}
}

// checkLevels checks that a future level has a question mark if unknown data could raise the level, and that the
// column of an instant is striped if the nurses on duty or the census are unknown.
func checkLevels(r *rapid.T, page string, u *readapi.Unit) {
	section := part(page, `id="levels"`, "</section>")
	heading := readWords(section, "<h2>", "</h2>")
	striped, unsure := 0, 0
	counted := u.Verdict.Axes[acuity.AxisCapacity].Known
	doubts := func(l acuity.Level, staffed bool) bool {
		return l < acuity.LevelRed && !staffed || l == acuity.LevelGreen && !counted
	}
	now := text.In("en").T("level." + u.Verdict.Level.String())
	last := text.In("en").T("color." + u.Verdict.Level.String())
	if doubts(u.Verdict.Level, u.Verdict.OnDuty >= 0) {
		now, last = now+"?", last+"?"
	}
	said := []string{now + " now"}
	for i := range u.Forecast.Points {
		q := &u.Forecast.Points[i]
		staffed := u.Verdict.OnDuty >= 0 || len(u.Plan) > 0 && u.Plan[0].AsOf <= q.At
		level := text.In("en").T("color." + q.Level.String())
		if doubts(q.Level, staffed) {
			level += "?"
			unsure++
		}
		if level != last {
			said = append(said, level+" from "+clockOf(q.At))
		}
		last = level
		if !staffed || !counted {
			striped++
		}
	}
	if len(said) == 1 {
		said[0] = now + " for the next 8 hours"
	}
	if want := strings.Join(said[:min(len(said), 4)], ", "); heading != want {
		r.Fatalf("the heading of the levels is %q, want %q", heading, want)
	}
	wide := part(section, `<svg class="chart wide"`, `<svg class="chart narrow"`)
	if marks := strings.Count(wide, `>?</text>`); marks != unsure || strings.Count(wide, `class="st"`) != striped {
		r.Fatalf("%d of %d levels have a question mark, %d of %d columns are striped", marks, unsure, strings.Count(wide, `class="st"`), striped)
	}
	if says := strings.Contains(section, "Striped:"); says != (striped > 0) {
		r.Fatalf("%d striped columns, explained: %t", striped, says)
	}
	measure := readWords(page, `id="help"`, "</div>")
	if u.Verdict.OnDuty < 0 && (strings.Contains(measure, "covered") || !strings.Contains(measure, "Green?")) {
		r.Fatalf("the options say %q without the nurses on duty", measure)
	}
}
