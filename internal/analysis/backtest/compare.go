package backtest

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/acuity/forecast"
)

// Foreign holds the forecasts of an external model.
type Foreign struct {
	name  string
	rooms bool // whether the model also forecasts the occupied rooms
	at    map[target]foreignForecast
}

// target identifies a forecast by when it was made and by the hour that it predicts.
type target struct {
	hour  int32 // hour at which the forecast was made, in hours since the Unix epoch
	ahead int   // number of hours from then to the predicted hour, from 1
}

type foreignForecast struct {
	nurses, rooms float64
	line          int
}

// Comparison compares svc's model with an external model, on the hours that both forecast.
type Comparison struct {
	Name      string   `json:"name"`
	Forecasts int      `json:"forecasts"` // number of compared forecasts of each model
	Missing   int      `json:"missing"`   // number of forecasts that the external model lacks
	Unused    int      `json:"unused"`    // number of the file's lines for hours that were not measured
	Models    []Errors `json:"models"`    // errors of svc's model, the external model and the baselines, in this order
	Census    []Errors `json:"census"`    // errors for the occupied rooms, if the external model forecasts them
	Gain      float64  `json:"gain"`      // fraction by which svc's error is smaller than the external model's

	sums, census []sum
}

// Columns of the CSV file with an external model's forecasts.
const (
	atColumn     = "at"
	aheadColumn  = "hours_ahead"
	nursesColumn = "nurses"
	roomsColumn  = "rooms"
)

// ReadForeign reads the forecasts of a model from CSV with a header.
//
// The columns are at (when the forecast was made, on the hour, RFC 3339), hours_ahead (1 to 8), nurses (required at
// the forecast hour) and, optionally, rooms (occupied at the forecast hour). Errors name the line and the rule.
func ReadForeign(name string, from io.Reader) (*Foreign, error) {
	if slices.Contains(Models(), name) {
		return nil, fmt.Errorf("%q is the name of a built-in model; rename the file", name)
	}
	rows := csv.NewReader(from)
	rows.ReuseRecord = true
	header, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("line 1: must be a header with the columns %s, %s and %s", atColumn, aheadColumn, nursesColumn)
	}
	columns := map[string]int{}
	for i, column := range header {
		column = strings.TrimPrefix(column, "\ufeff")
		_, twice := columns[column]
		if twice || !slices.Contains([]string{atColumn, aheadColumn, nursesColumn, roomsColumn}, column) {
			return nil, fmt.Errorf("line 1: column %d: must be one of %s, %s, %s and %s, each once",
				i+1, atColumn, aheadColumn, nursesColumn, roomsColumn)
		}
		columns[column] = i
	}
	for _, column := range []string{atColumn, aheadColumn, nursesColumn} {
		if _, there := columns[column]; !there {
			return nil, fmt.Errorf("line 1: the column %s is missing", column)
		}
	}
	f := &Foreign{name: name, at: map[target]foreignForecast{}}
	_, f.rooms = columns[roomsColumn]
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if fault := (*csv.ParseError)(nil); errors.As(err, &fault) {
			return nil, fmt.Errorf("line %d: %w", fault.Line, fault.Err)
		} else if err != nil {
			return nil, fmt.Errorf("read the forecasts: %w", err)
		}
		line, _ := rows.FieldPos(0)
		if err := f.add(row, columns, line); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// add adds the forecast in one row.
func (f *Foreign) add(row []string, columns map[string]int, line int) error {
	at, err := time.Parse(time.RFC3339, row[columns[atColumn]])
	if err != nil || !at.Equal(at.Truncate(time.Hour)) {
		return fmt.Errorf("%s: must be a whole hour such as 2026-01-05T07:00:00Z", atColumn)
	}
	hours := at.Unix() / int64(time.Hour/time.Second)
	if hours < 0 || hours > math.MaxInt32 {
		return fmt.Errorf("%s: must be after 1970", atColumn)
	}
	ahead, err := strconv.Atoi(row[columns[aheadColumn]])
	if err != nil || ahead < 1 || ahead > forecast.Horizon {
		return fmt.Errorf("%s: must be 1 to %d", aheadColumn, forecast.Horizon)
	}
	found := foreignForecast{line: line}
	if found.nurses, err = amount(row[columns[nursesColumn]]); err != nil {
		return fmt.Errorf("%s: %w", nursesColumn, err)
	}
	if i, there := columns[roomsColumn]; there {
		if found.rooms, err = amount(row[i]); err != nil {
			return fmt.Errorf("%s: %w", roomsColumn, err)
		}
	}
	key := target{int32(hours), ahead}
	if earlier, twice := f.at[key]; twice {
		return fmt.Errorf("has the same %s and %s as line %d", atColumn, aheadColumn, earlier.line)
	}
	f.at[key] = found
	return nil
}

// most is the maximum value of a forecast. A larger number means that the file is wrong.
const most = 10_000

var errAmount = fmt.Errorf("must be a number from 0 to %d", most)

func amount(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || x < 0 || x > most {
		return 0, errAmount
	}
	return x, nil
}

// newComparison returns an empty comparison, or nil if there is no external model.
func newComparison(f *Foreign) *Comparison {
	if f == nil {
		return nil
	}
	const models = 2 // svc's model and the external model
	return &Comparison{
		Name: f.name, Unused: len(f.at),
		sums: make([]sum, models+len(baselines)), census: make([]sum, models+len(baselines)),
	}
}

// add compares the forecasts that were made at an origin for the hour h+1 hours later. If the external model has no
// forecast for that hour, add counts it as missing.
func (c *Comparison) add(f *Foreign, o *origin, h int, required, occupied float64) {
	theirs, there := f.at[target{o.snapshot.Hour, h + 1}]
	if !there {
		c.Missing++
		return
	}
	c.Forecasts++
	c.Unused--
	c.sums[0].add(h, required-float64(o.ahead[h].Quantiles[forecast.P50]))
	c.sums[1].add(h, required-theirs.nurses)
	c.census[0].add(h, occupied-float64(o.ahead[h].Occupied))
	c.census[1].add(h, occupied-theirs.rooms)
	for i := range o.rivals {
		c.sums[2+i].add(h, required-o.rivals[i][h])
		c.census[2+i].add(h, occupied-o.census[i][h])
	}
}

// finish computes the errors of the methods, and svc's gain over the external model. show contains the indexes in
// Models() of the methods in the main tables of the report; the comparison includes the same baselines.
func (c *Comparison) finish(f *Foreign, show []int) {
	names := slices.Insert(Models(), 1, f.name)
	indices := []int{0, 1}
	for _, i := range show[1:] {
		indices = append(indices, i+1)
	}
	for _, i := range indices {
		c.Models = append(c.Models, c.sums[i].errors(names[i]))
		if f.rooms {
			c.Census = append(c.Census, c.census[i].errors(names[i]))
		}
	}
	if c.Models[1].Mean > 0 {
		c.Gain = rounded(1-c.Models[0].Mean/c.Models[1].Mean, 4)
	}
}
