// Package sheets implements the CSV format of the tables that administrators edit. It reads and writes the
// terminology map and the location table of a hospital, row by row, as the API represents them.
package sheets

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"svc/internal/analysis/spreadsheet"
)

// Mapping is a row of the terminology map as the API represents it.
type Mapping struct {
	ID       string  `json:"id,omitempty"`
	System   string  `json:"system"`
	Code     string  `json:"code"`
	Kind     *string `json:"kind,omitempty"`
	FactorID string  `json:"factorId"`
	Value    *Limit  `json:"value,omitempty"`
	Comment  string  `json:"comment,omitempty"`
}

// Limit is a comparison that a signal's number must satisfy.
type Limit struct {
	Op   string      `json:"op"`
	Than json.Number `json:"than"`
}

// KindName returns the kind of a mapping; "" means any.
func (m *Mapping) KindName() string {
	if m.Kind == nil {
		return ""
	}
	return *m.Kind
}

// Line is a row with the number of its line in the file.
type Line[T any] struct {
	Row  T
	Line int
}

// mappingColumns are the columns of a terminology map, in the order in which it is written.
var mappingColumns = []string{"system", "code", "kind", "factorId", "op", "than", "comment"}

// ReadMappings parses a terminology map. faults are errors in values; err is an error in the file as a whole. most is
// the maximum number of rows, or 0 for no limit; a file with more rows is an error.
func ReadMappings(in io.Reader, most int) (rows []Line[Mapping], faults []*spreadsheet.Fault, err error) {
	err = spreadsheet.Read(in, mappingColumns, []string{"system", "code", "factorId"}, most, func(line int, field func(string) string) {
		row := Mapping{System: field("system"), Code: field("code"), FactorID: field("factorId"), Comment: field("comment")}
		if kind := field("kind"); kind != "" {
			row.Kind = &kind
		}
		if op, than := field("op"), field("than"); op != "" || than != "" {
			if _, wrong := strconv.ParseFloat(than, 64); wrong != nil || !json.Valid([]byte(than)) { // JSON has no "nan"
				faults = append(faults, &spreadsheet.Fault{Line: line, Column: "than", Rule: "type:number"})
				return
			}
			row.Value = &Limit{op, json.Number(than)}
		}
		rows = append(rows, Line[Mapping]{row, line})
	})
	return rows, faults, err
}

// WriteMappings writes a terminology map in the form that [ReadMappings] reads.
func WriteMappings(out io.Writer, rows []Mapping) error {
	w := csv.NewWriter(out)
	records := [][]string{mappingColumns}
	for i := range rows {
		m := &rows[i]
		record := []string{
			spreadsheet.Escape(m.System), spreadsheet.Escape(m.Code), m.KindName(), m.FactorID, "", "",
			spreadsheet.Escape(m.Comment),
		}
		if m.Value != nil {
			record[4], record[5] = m.Value.Op, m.Value.Than.String()
		}
		records = append(records, record)
	}
	return w.WriteAll(records)
}

// Location is a row of the location table as the API represents it.
type Location struct {
	PointOfCare   string  `json:"pointOfCare,omitempty"`
	Room          string  `json:"room,omitempty"`
	Bed           string  `json:"bed,omitempty"`
	RoomID        *int32  `json:"roomId,omitempty"`
	RoomLabel     string  `json:"roomLabel,omitempty"`
	Area          string  `json:"area,omitempty"`
	Outside       bool    `json:"outside,omitempty"`
	PrimaryFactor *string `json:"primaryFactor,omitempty"`
}

// locationColumns are the columns of a location table, in the order in which it is written.
var locationColumns = []string{"pointOfCare", "room", "bed", "roomId", "roomLabel", "area", "outside", "primaryFactor"}

// ReadLocations parses a location table. faults are errors in values; err is an error in the file as a whole. most is
// the maximum number of rows, or 0 for no limit; a file with more rows is an error.
func ReadLocations(in io.Reader, most int) (rows []Line[Location], faults []*spreadsheet.Fault, err error) {
	err = spreadsheet.Read(in, locationColumns, nil, most, func(line int, field func(string) string) {
		row := Location{
			PointOfCare: field("pointOfCare"), Room: field("room"), Bed: field("bed"),
			RoomLabel: field("roomLabel"), Area: field("area"),
		}
		good := true
		fault := func(column, rule string) {
			good, faults = false, append(faults, &spreadsheet.Fault{Line: line, Column: column, Rule: rule})
		}
		if text := field("roomId"); text != "" {
			n, wrong := strconv.ParseInt(text, 10, 32)
			id := int32(n)
			if row.RoomID = &id; wrong != nil || n < 0 {
				fault("roomId", "range:0-2147483647")
			}
		}
		switch text := strings.ToLower(field("outside")); text {
		case "", "false":
		case "true":
			row.Outside = true
		default:
			fault("outside", "enum:true|false")
		}
		if factor := field("primaryFactor"); factor != "" {
			row.PrimaryFactor = &factor
		}
		if good {
			rows = append(rows, Line[Location]{row, line})
		}
	})
	return rows, faults, err
}

// WriteLocations writes a location table that [ReadLocations] reads.
func WriteLocations(out io.Writer, rows []Location) error {
	w := csv.NewWriter(out)
	records := [][]string{locationColumns}
	for i := range rows {
		l := &rows[i]
		record := []string{
			spreadsheet.Escape(l.PointOfCare), spreadsheet.Escape(l.Room), spreadsheet.Escape(l.Bed), "",
			spreadsheet.Escape(l.RoomLabel), spreadsheet.Escape(l.Area), "", "",
		}
		if l.RoomID != nil {
			record[3] = strconv.Itoa(int(*l.RoomID))
		}
		if l.Outside {
			record[6] = "true"
		}
		if l.PrimaryFactor != nil {
			record[7] = *l.PrimaryFactor
		}
		records = append(records, record)
	}
	return w.WriteAll(records)
}
