package backtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/forecast"
	"svc/acuity/score"
	"svc/internal/analysis/backtest"
)

// foreign returns a CSV file with the forecasts that an external model makes at each of the given hours. The model
// is a persistence forecast: each forecast is the value at the hour itself.
func foreign(list []acuity.Snapshot, columns string) string {
	var file strings.Builder
	file.WriteString(columns + "\n")
	for i := range list {
		numbers := score.SumSnapshot(&list[i])
		for h := range forecast.Horizon {
			fmt.Fprintf(&file, "%s,%d,%v", time.Unix(int64(list[i].Hour)*3600, 0).UTC().Format(time.RFC3339), h+1, float64(numbers.Required)/float64(catalogue.Nurse))
			if strings.HasSuffix(columns, "rooms") {
				fmt.Fprintf(&file, ",%d", list[i].Occupied)
			}
			file.WriteString("\n")
		}
	}
	return file.String()
}

func readForeign(t *testing.T, text string) *backtest.Foreign {
	t.Helper()
	f, err := backtest.ReadForeign("mine", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestCompared: an external model that equals persistence has the same errors as persistence, and does not change the
// main tables.
func TestCompared(t *testing.T) {
	list := unit(5, 30*24)
	o := backtest.Options{Warmup: 240}
	alone := run(t, list, o)
	o.Compare = readForeign(t, foreign(list, "at,hours_ahead,nurses,rooms"))
	r := run(t, list, o)
	c := r.Compared
	if c.Forecasts != r.Forecasts || c.Missing != 0 || c.Unused != 720*8-r.Forecasts {
		t.Errorf("%d forecasts, %d missing, %d unused, of %d", c.Forecasts, c.Missing, c.Unused, r.Forecasts)
	}
	for _, tables := range [][2][]backtest.Errors{{c.Models, r.Models}, {c.Census, r.Census}} {
		same := tables[0][1]
		same.Name = "persistence"
		if tables[0][1].Name != "mine" || !reflect.DeepEqual(same, tables[1][1]) || !reflect.DeepEqual(same, tables[0][2]) || !reflect.DeepEqual(tables[0][0], tables[1][0]) {
			t.Errorf("compared\n%+v\nwithout\n%+v", tables[0], tables[1])
		}
	}
	if want := 1 - c.Models[0].Mean/c.Models[1].Mean; want <= 0 || c.Gain < want-.0001 || c.Gain > want+.0001 {
		t.Errorf("gain %v, want %v", c.Gain, want)
	}
	var sheet, page bytes.Buffer
	if err := r.CSV(&sheet); err != nil {
		t.Fatal(err)
	}
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	number, err := json.Marshal(c.Census[1].RMSE[7])
	if err != nil {
		t.Fatal(err)
	}
	if row := fmt.Sprintf("\ncompared_census_rmse,mine,all,8,%s\n", number); !strings.Contains(sheet.String(), row) {
		t.Errorf("no line %q in the sheet", row)
	}
	if !strings.Contains(page.String(), "<h2>Compared with mine</h2>") {
		t.Error("the page does not compare")
	}
	r.Compared = nil
	a, err := json.Marshal(alone)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("with a model of somebody else\n%s\nwithout\n%s", b, a)
	}
}

// TestComparedInPart: if the external model forecasts only some of the hours, both models are compared only on those
// hours. If none of its forecasts is for a measured hour, the backtest fails.
func TestComparedInPart(t *testing.T) {
	list := unit(6, 30*24)
	r := run(t, list, backtest.Options{Warmup: 240, Models: []string{"blend"}, Compare: readForeign(t, foreign(list[500:600], "at,hours_ahead,nurses"))})
	c := r.Compared
	if c.Forecasts != 100*8 || c.Missing != r.Forecasts-100*8 || c.Unused != 0 || c.Census != nil {
		t.Errorf("%+v of %d forecasts", c, r.Forecasts)
	}
	if len(c.Models) != 3 || c.Models[2].Name != "blend" || reflect.DeepEqual(c.Models[0], r.Models[0]) {
		t.Errorf("models %+v", c.Models)
	}
	if _, err := backtest.Run(each(list), backtest.Options{Warmup: 240, Compare: readForeign(t, foreign(list[:100], "at,hours_ahead,nurses"))}); err == nil || !strings.Contains(err.Error(), "mine: none of its 800 forecasts is for a measured hour") {
		t.Errorf("error %v of a file of other hours", err)
	}
}

// TestForeignFromSpreadsheet: the file may begin with a byte order mark, as spreadsheets write it.
func TestForeignFromSpreadsheet(t *testing.T) {
	const text = "\ufeffat,hours_ahead,nurses\n2026-01-05T07:00:00Z,1,2\n"
	if _, err := backtest.ReadForeign("mine", strings.NewReader(text)); err != nil {
		t.Error(err)
	}
}

func TestForeignFaults(t *testing.T) {
	const head = "at,hours_ahead,nurses,rooms\n"
	for name, tt := range map[string]struct{ text, want string }{
		"empty":            {"", "line 1: must be a header"},
		"no column":        {"at,nurses\n", "line 1: the column hours_ahead is missing"},
		"unknown column":   {"at,hours_ahead,nurses,p90\n", "line 1: column 4: must be one of at, hours_ahead, nurses and rooms, each once"},
		"column twice":     {"at,hours_ahead,at\n", "line 1: column 3: "},
		"no instant":       {head + "monday,1,2,3\n", "line 2: at: must be a whole hour"},
		"within an hour":   {head + "2026-01-05T07:30:00Z,1,2,3\n", "line 2: at: must be a whole hour"},
		"before 1970":      {head + "1926-01-05T07:00:00Z,1,2,3\n", "line 2: at: must be after 1970"},
		"too far":          {head + "2026-01-05T07:00:00Z,9,2,3\n", "line 2: hours_ahead: must be 1 to 8"},
		"not ahead":        {head + "2026-01-05T07:00:00Z,0,2,3\n", "line 2: hours_ahead: must be 1 to 8"},
		"no number":        {head + "2026-01-05T07:00:00Z,1,few,3\n", "line 2: nurses: must be a number from 0 to 10000"},
		"NaN":              {head + "2026-01-05T07:00:00Z,1,2,NaN\n", "line 2: rooms: must be a number from 0 to 10000"},
		"negative":         {head + "2026-01-05T07:00:00Z,1,-0.5,3\n", "line 2: nurses: must be"},
		"too many":         {head + "2026-01-05T07:00:00Z,1,1e9,3\n", "line 2: nurses: must be"},
		"a field too few":  {head + "2026-01-05T07:00:00Z,1,2\n", "line 2: wrong number of fields"},
		"an open quote":    {head + "2026-01-05T07:00:00Z,1,2,3\n\"2026", "line 3: "},
		"twice":            {head + "2026-01-05T07:00:00Z,1,2,3\n\n2026-01-05T01:00:00-06:00,1,2,3\n", "line 4: has the same at and hours_ahead as line 2"},
		"spaces in fields": {head + "2026-01-05T07:00:00Z, 1,2,3\n", "line 2: hours_ahead: must be 1 to 8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := backtest.ReadForeign("mine", strings.NewReader(tt.text))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			for _, value := range []string{"monday", "few", "1e9"} {
				if strings.Contains(err.Error(), value) {
					t.Errorf("the error %v tells a value", err)
				}
			}
		})
	}
	if _, err := backtest.ReadForeign("blend", strings.NewReader(head)); err == nil || !strings.Contains(err.Error(), "rename the file") {
		t.Errorf("error %v of a model with the name of ours", err)
	}
}
