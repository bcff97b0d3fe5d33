package sheets

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"svc/internal/analysis/spreadsheet"
)

// Location is a row of the location table in the form of the API.
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

// ReadLocations reads a location table. The faults are about values; an error is about the file as a
// whole.
func ReadLocations(in io.Reader) (rows []Line[Location], faults []*spreadsheet.Fault, err error) {
	err = spreadsheet.Read(in, locationColumns, nil, func(line int, field func(string) string) {
		row := Location{PointOfCare: field("pointOfCare"), Room: field("room"), Bed: field("bed"), RoomLabel: field("roomLabel"), Area: field("area")}
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
		record := []string{spreadsheet.Escape(l.PointOfCare), spreadsheet.Escape(l.Room), spreadsheet.Escape(l.Bed), "", spreadsheet.Escape(l.RoomLabel), spreadsheet.Escape(l.Area), "", ""}
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
