// Package spreadsheet exchanges CSV files with spreadsheet programs. It reads the files that they write, and escapes
// text that they would execute as a formula.
package spreadsheet

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// formulaStarts are the characters that make a spreadsheet interpret a cell as a formula if the cell begins with them
// (OWASP, CSV injection). Spreadsheets in East Asian languages also accept the full-width ones.
const formulaStarts = "=+-@\t\r\n＝＋－＠"

// Escape puts an apostrophe before text that a spreadsheet would execute as a formula. [Unescape] removes the
// apostrophe.
//
// A formula that already has apostrophes before it gets one more, so that Unescape restores every text.
func Escape(text string) string {
	if isFormula(strings.TrimLeft(text, "'")) {
		return "'" + text
	}
	return text
}

// Unescape returns the original text of an [Escape] result.
func Unescape(text string) string {
	if strings.HasPrefix(text, "'") && isFormula(strings.TrimLeft(text, "'")) {
		return text[1:]
	}
	return text
}

func isFormula(text string) bool {
	first, size := utf8.DecodeRuneInString(text)
	return size > 0 && strings.ContainsRune(formulaStarts, first)
}

// Fault is an error in a file. It never contains a value from the file.
type Fault struct {
	Line    int      // from 1; 0: the file as a whole
	Column  string   // name of the column; "": unknown
	Number  int      // position of an unknown column, from 1; for too many rows or fields, the maximum number
	Rule    string   // the broken rule: one of this package or, for a value, one of the API
	Columns []string // allowed columns, if a column is unknown
}

// Rules for a file as a whole.
const (
	EmptyFile     = "emptyFile"     // the file has no line
	UnknownColumn = "unknownColumn" // the first line has an unknown column name
	MissingColumn = "missingColumn" // the first line lacks a column
	StrayQuote    = "strayQuote"    // a quote is not closed, or is within an unquoted field
	TooManyRows   = "tooManyRows"   // the file has more rows than allowed
	TooManyFields = "tooManyFields" // a line has more fields than [MostFields]
)

// Error implements error.
func (f *Fault) Error() string {
	switch f.Rule {
	case EmptyFile:
		return "the file is empty"
	case UnknownColumn:
		return fmt.Sprintf("line %d: column %d must be one of %s", f.Line, f.Number, strings.Join(f.Columns, ", "))
	case MissingColumn:
		return fmt.Sprintf("line %d: the column %s is missing", f.Line, f.Column)
	case StrayQuote:
		return fmt.Sprintf("line %d: a quotation mark is not closed, or is inside an unquoted field", f.Line)
	case TooManyRows:
		return fmt.Sprintf("line %d: a file may have at most %d rows", f.Line, f.Number)
	case TooManyFields:
		return fmt.Sprintf("line %d: a line may have at most %d fields", f.Line, f.Number)
	}
	return fmt.Sprintf("line %d: %s: %s", f.Line, f.Column, f.Rule)
}

// Read calls fn for every row of a file whose first line contains the column names. The columns may be in any order,
// and must include the required ones. If the file does not have a column, field returns "" for it. If most is greater
// than 0, it is the maximum number of rows; if the file has more, Read returns an error after it has passed the
// permitted rows to fn. An error in the content of the file is a [*Fault].
func Read(in io.Reader, columns, required []string, most int, fn func(line int, field func(column string) string)) error {
	reader := csv.NewReader(&fieldLimit{in: in, line: 1})
	reader.FieldsPerRecord = -1
	reader.TrimLeadingSpace = true
	head, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return &Fault{Rule: EmptyFile}
	} else if err != nil {
		return readFault(err)
	}
	place := map[string]int{}
	for i, name := range head {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		if !slices.Contains(columns, name) {
			// A file without a header begins with values, which must not appear in the fault.
			return &Fault{Line: 1, Number: i + 1, Rule: UnknownColumn, Columns: columns}
		}
		place[name] = i
	}
	for _, name := range required {
		if _, ok := place[name]; !ok {
			return &Fault{Line: 1, Column: name, Rule: MissingColumn}
		}
	}
	for rows := 1; ; rows++ {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return readFault(err)
		}
		line, _ := reader.FieldPos(0)
		if most > 0 && rows > most {
			return &Fault{Line: line, Number: most, Rule: TooManyRows}
		}
		fn(line, func(column string) string {
			if i, ok := place[column]; ok && i < len(record) {
				return Unescape(strings.TrimSpace(record[i]))
			}
			return ""
		})
	}
}

// MostFields is the maximum number of fields in a line. No table has as many columns.
const MostFields = 1000

// fieldLimit passes a file on until a line has more than [MostFields] fields. Without this limit, a line of commas
// would take 70 times its size in memory, because the CSV reader keeps a string and two positions for each field.
type fieldLimit struct {
	in     io.Reader
	line   int  // of the next byte, from 1
	begun  int  // line where the current record begins; 0: the next byte begins a record
	commas int  // in the current record, outside quotes
	quoted bool // whether the next byte is in quotes, where a comma and a line break are text
}

// Read implements [io.Reader].
func (l *fieldLimit) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	for _, c := range p[:n] {
		if l.begun == 0 {
			l.begun, l.commas = l.line, 0
		}
		switch {
		case c == '"':
			l.quoted = !l.quoted // twice for a quote that is text
		case c == '\n':
			l.line++
			if !l.quoted {
				l.begun = 0
			}
		case c == ',' && !l.quoted:
			if l.commas++; l.commas == MostFields {
				return 0, &Fault{Line: l.begun, Number: MostFields, Rule: TooManyFields}
			}
		}
	}
	return n, err //nolint:wrapcheck // the error of the file is passed on unchanged
}

// readFault returns the fault for a line that is not valid CSV. It returns any other error unchanged.
func readFault(err error) error {
	if at, ok := errors.AsType[*csv.ParseError](err); ok {
		return &Fault{Line: at.StartLine, Rule: StrayQuote}
	}
	return err
}
