package spreadsheet

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Read calls each with the rows of a file whose first line names its columns. The columns
// may come in any order; the required ones must be there. A field of a missing column is
// empty.
func Read(in io.Reader, columns, required []string, each func(line int, field func(column string) string)) error {
	reader := csv.NewReader(in)
	reader.FieldsPerRecord = -1
	reader.TrimLeadingSpace = true
	head, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	} else if err != nil {
		return err
	}
	place := map[string]int{}
	for i, name := range head {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		if !slices.Contains(columns, name) {
			// A file without a head begins with values, which are not to be repeated.
			return fmt.Errorf("line 1: column %d is none of %s", i+1, strings.Join(columns, ", "))
		}
		place[name] = i
	}
	for _, name := range required {
		if _, ok := place[name]; !ok {
			return fmt.Errorf("line 1: the column %s is missing", name)
		}
	}
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err // names its line
		}
		line, _ := reader.FieldPos(0)
		each(line, func(column string) string {
			if i, ok := place[column]; ok && i < len(record) {
				return Unescape(strings.TrimSpace(record[i]))
			}
			return ""
		})
	}
}
