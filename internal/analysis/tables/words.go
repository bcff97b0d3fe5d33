package tables

import (
	"encoding/json"
	"strconv"
	"time"

	"svc/acuity/catalogue"
)

// Moment is an instant in a column: milliseconds since the Unix epoch in UTC, as text RFC
// 3339. Zero is null.
type Moment int64

// MarshalJSON writes RFC 3339, or null.
func (m Moment) MarshalJSON() ([]byte, error) {
	if m == 0 {
		return []byte("null"), nil
	}
	return strconv.AppendQuote(nil, m.text()), nil
}

// UnmarshalJSON reads RFC 3339, or null.
func (m *Moment) UnmarshalJSON(b []byte) error {
	var at *time.Time
	if err := json.Unmarshal(b, &at); err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	if *m = 0; at != nil {
		*m = Moment(at.UnixMilli())
	}
	return nil
}

func (m Moment) text() string {
	return time.UnixMilli(int64(m)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// The words of the columns. The API uses the same, where it has the value.
var (
	eventWords      = [...]string{"other", "A01", "A02", "A03", "A04", "A06", "A07", "A08", "A11", "A12", "A13"}
	signalWords     = [...]string{"", "medication", "observation", "lab", "device", "condition"}
	statusWords     = [...]string{"active", "ended", "on-hold", "retracted"}
	comparatorWords = [...]string{"", "<", "<=", ">", ">="}
	tristateWords   = [...]string{"", "no", "yes"}
	causeWords      = [...]string{"ingest", "time"}
	outcomeWords    = [...]string{"applied", "duplicate", "ignored", "rejected", "time"}
	effectWords     = [...]string{"", "surge.level_changed", "room.rescored"}
)

// nullable returns the value of a nullable column; the zero value becomes null. It is a pointer
// for a reason. In a column without pointers, parquet-go takes zeros for nulls and writes some
// of them as zeros. For example, of 64 rows with a value only in the second, all rows after it
// come back with a value.
func nullable[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// word returns the word of an enumeration's number; a number that the table does not know is
// written as digits.
func word[E ~uint8](words []string, e E) string {
	if int(e) < len(words) {
		return words[e]
	}
	return strconv.Itoa(int(e))
}

func classLetter(c byte) string {
	if c == 0 {
		return ""
	}
	return string(rune(c))
}

func factorID(f catalogue.Factor) string {
	if f == 0 {
		return ""
	}
	return f.ID()
}

func factorIDs(list []catalogue.Factor) []string {
	if len(list) == 0 {
		return nil
	}
	ids := make([]string, len(list))
	for i, f := range list {
		ids[i] = f.ID()
	}
	return ids
}
