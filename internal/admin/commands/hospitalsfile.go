package commands

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"svc/internal/analysis/spreadsheet"
	"svc/internal/cli"
	"svc/internal/httpapi/access"
)

// read reads the file, and returns its rows and the errors in its lines.
func (o *hospitalImport) read(ctx context.Context, file string) (rows []importedHospital, faults []string, err error) {
	text, err := cli.OpenInput(ctx, file)
	if err != nil {
		return nil, nil, err
	}
	defer text.Close() //nolint:errcheck // the file was only read
	return readHospitals(text)
}

// readHospitals reads CSV or, if the first character is a brace, one JSON object per line.
func readHospitals(in io.Reader) (rows []importedHospital, faults []string, err error) {
	all := hospitalLines{seen: map[string]int{}}
	text := bufio.NewReaderSize(in, importLine)
	if isJSON(text) {
		err = all.readJSON(text)
	} else {
		err = spreadsheet.Read(text, hospitalColumns, hospitalColumns[:3], 0, func(line int, field func(string) string) {
			all.add(line, &hospitalLine{
				ID: field("id"), Name: field("name"), Zone: field("timezone"),
				Keys: slices.DeleteFunc(strings.Split(field("keys"), ";"), func(name string) bool { return strings.TrimSpace(name) == "" }),
			})
		})
	}
	return all.rows, all.faults, err
}

// hospitalLine is a line of the file before it is checked. The JSON fields have the names of the CSV columns.
type hospitalLine struct {
	ID   string   `json:"id"`
	Name string   `json:"name"`
	Zone string   `json:"timezone"`
	Keys []string `json:"keys"`
}

// hospitalLines checks the lines of a file.
type hospitalLines struct {
	rows   []importedHospital
	faults []string
	seen   map[string]int // line by id
}

// isJSON reports whether the first character other than white space is a brace. No CSV column begins with a brace.
func isJSON(text *bufio.Reader) bool {
	start, _ := text.Peek(importLine) //nolint:errcheck // reading the file later returns the error
	return bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\ufeff")), " \t\r\n"), []byte("{"))
}

func (l *hospitalLines) readJSON(text io.Reader) error {
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, importLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(bytes.TrimPrefix(lines.Bytes(), []byte("\ufeff")))
		if len(line) == 0 {
			continue
		}
		var row hospitalLine
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&row)
		if err == nil && len(bytes.TrimSpace(line[decoder.InputOffset():])) > 0 {
			err = errors.New("more than one value")
		}
		if err != nil { // the decoder's error may quote a value
			l.fault(n, "json", "must be an object with the string fields id, name and timezone and, optionally, the list keys")
			continue
		}
		l.add(n, &row)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		l.fault(n+1, "json", fmt.Sprintf("must be at most %d bytes", importLine-1))
		return nil
	}
	return lines.Err()
}

func (l *hospitalLines) fault(line int, place, rule string) {
	l.faults = append(l.faults, fmt.Sprintf("line %d: %s: %s", line, place, rule))
}

func (l *hospitalLines) add(line int, from *hospitalLine) {
	row := importedHospital{Hospital: access.Hospital{ID: from.ID, Name: from.Name, Zone: from.Zone}, line: line}
	if (&access.Hospital{ID: row.ID, Zone: "UTC"}).Check() != nil {
		l.fault(line, "id", "must be at most 64 lower-case letters, digits and hyphens, and not a reserved word")
	} else if before := l.seen[row.ID]; before > 0 {
		l.fault(line, "id", fmt.Sprintf("is the same as in line %d", before))
	} else {
		l.seen[row.ID] = line
	}
	if !isLabel(row.Name) {
		l.fault(line, "name", "must be 1 to 100 characters, without control characters")
	}
	if (&access.Hospital{ID: "a", Zone: row.Zone}).Check() != nil {
		l.fault(line, "timezone", "must be an IANA name such as America/Chicago")
	}
	for _, name := range from.Keys {
		switch name = strings.TrimSpace(name); {
		case !isLabel(name):
			l.fault(line, "keys", "each name must have 1 to 100 characters, without control characters")
		case slices.Contains(row.keys, name):
			l.fault(line, "keys", "a name is listed twice")
		default:
			row.keys = append(row.keys, name)
		}
	}
	if len(row.keys) > importKeys {
		l.fault(line, "keys", fmt.Sprintf("must be at most %d", importKeys))
	}
	l.rows = append(l.rows, row)
}

// isLabel reports whether a text is valid as the name of a hospital or a key.
func isLabel(text string) bool {
	return strings.TrimSpace(text) != "" && access.NameFits(text)
}
