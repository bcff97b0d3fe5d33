package web_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/forecast"
	"svc/readapi"
)

// recorded is a fake history with the same hours every day: high demand in the morning, low demand otherwise.
type recorded struct {
	staffed bool
	err     error
}

func (f *recorded) Trends(_ context.Context, hospital string, since, _ time.Time) (*readapi.Trends, error) {
	if f.err != nil || hospital != "north" {
		return nil, errors.Join(f.err, errors.New(hospital))
	}
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		return nil, err
	}
	until := since.Truncate(time.Hour).Add(24 * time.Hour)
	if since.Before(half.Add(-48 * time.Hour)) {
		until = until.Add(half.Sub(since) - 24*time.Hour)
	}
	t := &readapi.Trends{
		Since: since.Truncate(time.Hour), Until: until, Zone: zone, Unknown: 180,
		Forecast: &forecast.Calibration{Status: forecast.Calibrated, Coverage80: .784, MAE: 1.034, MAEPersistence: 1.2, Samples: 540, WindowDays: 28},
	}
	quiet := t.Since.Add(3 * time.Hour) // end of an hour that was not observed
	t.Hours = append(t.Hours, readapi.TrendHour{Hour: readapi.Hour{At: quiet, Level: acuity.LevelGreen, OnDuty: 5}})
	for at := quiet.Add(time.Hour); !at.After(until); at = at.Add(time.Hour) {
		h := readapi.TrendHour{Hour: readapi.Hour{At: at, Observed: true, Level: acuity.LevelGreen, Required: 240, OnDuty: -1}}
		h.Levels.Minutes[acuity.LevelGreen] = 60
		if f.staffed {
			h.OnDuty = 5
		}
		if n := at.In(zone).Hour(); n > 8 && n < 12 {
			h.Required, h.Level = catalogue.Demand(240+30*n), acuity.LevelOrange
			h.Levels = readapi.LevelMinutes{Minutes: [4]int{10, 20, 25, 5}, Estimated: 30}
		}
		for level, n := range h.Levels.Minutes {
			t.Levels.Minutes[level] += n
		}
		t.Levels.Estimated += h.Levels.Estimated
		t.Hours = append(t.Hours, h)
	}
	for day := range 7 {
		t.Week = append(t.Week, readapi.WeekHour{Weekday: time.Weekday(day), Hour: 3 * day, Hours: 4, Required: catalogue.Demand(200 + 40*day), Staffed: 4, Short: day % 5})
	}
	return t, nil
}

func TestTrendsGolden(t *testing.T) {
	for name, path := range map[string]string{"day": "/app/trends", "week": "/app/trends?days=7", "month": "/app/trends?days=28"} {
		for _, language := range []string{"en", "es"} {
			w := inState(t, "usual")
			w.record.staffed = name != "week"
			status, html := w.page(path, language)
			if status != http.StatusOK {
				t.Errorf("%s: %d", path, status)
			}
			if name == "day" && language == "en" {
				golden(t, "trends.html", html)
				continue
			}
			day := inState(t, "usual")
			day.record.staffed = true
			_, whole := day.page("/app/trends", "en")
			golden(t, "trends_"+name+"_"+language+".html", listDifferent(html, whole))
		}
	}
	w := inState(t, "usual")
	for path, want := range map[string]int{"/app/trends?days=2": http.StatusNotFound, "/app/trends?days=x": http.StatusNotFound, "/app/trends.csv?days=0": http.StatusNotFound} {
		if status, _ := w.page(path, "en"); status != want {
			t.Errorf("%s: %d", path, status)
		}
	}
	w.record.err = readapi.ErrAway
	if status, html := w.page("/app/trends", "en"); status != http.StatusServiceUnavailable || strings.Contains(html, "<svg class=\"chart") {
		t.Errorf("away: %d", status)
	}
}

// TestColorsOfOneWeek: in a period with only one hour of each kind, the colors cannot tell in how many weeks the unit
// was short-staffed.
func TestColorsOfOneWeek(t *testing.T) {
	w := inState(t, "usual")
	w.record.staffed = true
	for path, want := range map[string]string{"/app/trends?days=7": "Red: short-staffed in that hour.", "/app/trends?days=28": "in more than half (red)"} {
		_, html := w.page(path, "en")
		if once, weeks := strings.Contains(html, "in that hour"), strings.Contains(html, "some weeks"); !strings.Contains(html, want) || once == weeks {
			t.Errorf("%s does not say %q", path, want)
		}
	}
}

// TestTrendsWithoutData: the page says once that the period has no data.
func TestTrendsWithoutData(t *testing.T) {
	w := inState(t, "usual")
	w.trends = drawnHours(nil)
	for _, days := range []string{"1", "7", "28"} {
		_, html := w.page("/app/trends?days="+days, "en")
		words := readWords(html, "<main", "</main>")
		if want := "No data for this period"; strings.Count(words, want) != 1 || strings.Contains(html, `<svg class="chart`) || strings.Contains(words, "CSV") {
			t.Errorf("%s days: %s", days, words)
		}
	}
}

// TestTrendsLeaveGaps: an hour that was not recorded leaves a gap in the figure of the levels.
func TestTrendsLeaveGaps(t *testing.T) {
	w := inState(t, "usual")
	for _, missing := range []int{0, 5, 23} {
		var hours drawnHours
		for i := range 24 {
			h := readapi.TrendHour{Hour: readapi.Hour{At: half.Truncate(time.Hour).Add(time.Duration(i-23) * time.Hour), Observed: true, OnDuty: 5}}
			h.Levels.Minutes[acuity.LevelGreen] = 60
			if i != missing {
				hours = append(hours, h)
			}
		}
		w.trends = hours
		_, html := w.page("/app/trends", "en")
		figure := part(html, `viewBox="0 0 760 150"`, "</svg><svg class=\"chart narrow")
		for i := range 24 {
			column := fmt.Sprintf(`<path class="fg" d="M%.4g 28H`, math.Round((float64(i)*760/24+3)*10)/10)
			if strings.Contains(figure, column) != (i != missing) {
				t.Errorf("hour %d is missing; hour %d: no or one %s in %s", missing, i, column, figure)
			}
		}
	}
}

// TestTrendsAsCSV: the file contains the same numbers as the API, with one line per hour.
func TestTrendsAsCSV(t *testing.T) {
	w := inState(t, "usual")
	w.record.staffed = true
	status, text := w.page("/app/trends.csv?days=1", "es")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if status != http.StatusOK || err != nil || len(rows) != 23 {
		t.Fatalf("%d, %v, %d rows", status, err, len(rows))
	}
	if got := strings.Join(rows[0], ","); got != "at,observed,level,nurses_required,nurses_on_duty,ratio_shortfall,green_minutes,yellow_minutes,orange_minutes,red_minutes,estimated_minutes" {
		t.Error(got)
	}
	for _, row := range rows[1:] {
		if row[2] == "orange" {
			if got := strings.Join(row[3:], ","); got != "8.50,5,4,10,20,25,5,30" {
				t.Error(row)
			}
			break
		}
	}
}
