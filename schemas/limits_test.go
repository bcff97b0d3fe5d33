package schemas

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/facts"
	"svc/acuity/hospital"
	"svc/acuity/terminology"
)

// The limits of a hospital, which docs/limits.md lists, and the maximum size of a changelog record in bytes.
const (
	maxState    = 64 << 10
	maxMappings = 20_000
	maxCodes    = 50_000
)

// storing is a unit that counts and encodes the records that it writes.
type storing struct {
	*hospital.State
	t       *testing.T
	now     acuity.Instant
	value   []byte
	largest int
}

func newStoring(t *testing.T) *storing {
	return &storing{t: t, State: hospital.New("st-mary"), now: acuity.At(time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC))}
}

// applyObservation applies an observation and returns the number of records of each kind that the unit writes as a
// result. Every record must be smaller than maxState.
func (s *storing) applyObservation(o acuity.Observation) (acuity.Change, map[string]int) {
	s.t.Helper()
	o.Hospital, o.ReceivedAt = "st-mary", s.now
	for {
		if _, more := s.Advance(s.now); !more {
			break
		}
	}
	c := s.Apply(&o, 0)
	written := map[string]int{}
	s.Dirty(func(key []byte, state facts.Record) {
		kind := strings.Split(string(key), "/")[1]
		written[kind]++
		if state == nil {
			return
		}
		var err error
		if s.value, err = EncodeState(s.value[:0], state); err != nil {
			s.t.Fatal(err)
		}
		if s.largest = max(s.largest, len(s.value)); len(s.value) >= maxState {
			s.t.Fatalf("the record of a %s has %d bytes", kind, len(s.value))
		}
	})
	s.View(func(int32, *acuity.RoomChart) {})
	return c, written
}

func wantWritten(t *testing.T, what string, written map[string]int, want string) {
	t.Helper()
	if got := fmt.Sprint(written); got != "map["+want+"]" {
		t.Errorf("%s: written are %s, want map[%s]", what, got, want)
	}
}

func rowOf(n int) acuity.Mapping {
	m := acuity.Mapping{
		System: codes.SystemLocal, Code: fmt.Sprintf("%s%05d", strings.Repeat("C", 59), n),
		Factor: catalogue.Factor(n%2 + 1), Comment: strings.Repeat("č", 200),
	}
	m.ID = terminology.MappingID(&m)
	return m
}

// TestFullTerminologyMap: in a full terminology map, each row is a separate record. Therefore no record grows with
// the map, and a change to a row writes only the records of that row and of the unit.
func TestFullTerminologyMap(t *testing.T) {
	s := newStoring(t)
	act := func(rows ...acuity.Mapping) (acuity.Change, map[string]int) {
		s.now = s.now.Add(time.Second)
		return s.applyObservation(acuity.Observation{Channel: acuity.ChannelTerminology, Source: "key_1", Mappings: rows})
	}
	const chunk = 5000
	var rows []acuity.Mapping
	for n := range maxMappings {
		rows = append(rows, rowOf(n))
	}
	for i := 0; i < len(rows); i += chunk {
		c, written := act(rows[i : i+chunk]...)
		if c.Outcome != acuity.Applied {
			t.Fatalf("rows from %d: %v %s", i, c.Outcome, c.Reason)
		}
		wantWritten(t, "new rows", written, "mapping:5000 unit:1")
	}
	c, written := act(rowOf(maxMappings))
	if c.Outcome != acuity.Ignored || c.Reason != facts.ReasonTooMany {
		t.Errorf("one row too many: %v %s", c.Outcome, c.Reason)
	}
	wantWritten(t, "one row too many", written, "unit:1")
	_, written = act(rows[:chunk]...)
	wantWritten(t, "the same rows", written, "unit:1")

	// Different spellings of the same code have the same row id. A row with another spelling replaces the old row,
	// even in a full map.
	other := rows[7]
	other.Code, other.Factor = " "+strings.ToLower(other.Code), rows[8].Factor
	if other.ID = terminology.MappingID(&other); other.ID != rows[7].ID {
		t.Fatalf("the same code has the ids %s and %s", rows[7].ID, other.ID)
	}
	if c, written = act(other); c.Outcome != acuity.Applied {
		t.Errorf("a row that clashes: %v %s", c.Outcome, c.Reason)
	}
	wantWritten(t, "a row that clashes", written, "mapping:1 unit:1")
	// Two rows for the same code in one change result in one record; the last row applies.
	_, written = act(rows[9], other, rows[7])
	wantWritten(t, "two rows that clash", written, "mapping:1 unit:1")
	kept, all := "", 0
	s.Records(func(_ []byte, state facts.Record) {
		if m, ok := state.(*facts.MappingState); ok {
			if all++; m.ID == other.ID {
				kept = m.Code
			}
		}
	})
	if all != maxMappings || kept != rows[7].Code {
		t.Errorf("there are %d rows, of the clashing ones %q", all, kept)
	}
	gone := rows[3]
	gone.Delete = true
	_, written = act(gone)
	wantWritten(t, "a row taken away", written, "mapping:1 unit:1")
	t.Logf("the largest record has %d bytes", s.largest)
}

// TestFullWorklist: a worklist is full of long codes, one of which occurred in many rooms and hours. Each code is a
// separate record, and an input writes only the records of the codes that it contains.
func TestFullWorklist(t *testing.T) {
	s := newStoring(t)
	signal := func(n int) acuity.Signal {
		return acuity.Signal{
			Kind: catalogue.KindObservation, System: codes.SystemLocal, Room: int32(n/100%40 + 1),
			Code: fmt.Sprintf("%s%05d", strings.Repeat("X", 59), n), Display: strings.Repeat("č", 200),
		}
	}
	say := func(room int32, list ...acuity.Signal) (acuity.Change, map[string]int) {
		s.now = s.now.Add(time.Second)
		for i := range list {
			list[i].Room = room
		}
		return s.applyObservation(acuity.Observation{Channel: acuity.ChannelClinical, Room: &acuity.RoomRef{ID: room}, Signals: list})
	}
	const chunk = 100
	for n := 0; n < maxCodes; n += chunk {
		list := make([]acuity.Signal, chunk)
		for i := range list {
			list[i] = signal(n + i)
		}
		if _, written := say(list[0].Room, list...); written["code"] != chunk {
			t.Fatalf("of %d new codes %d are written", chunk, written["code"])
		}
	}
	c, written := say(1, signal(maxCodes))
	if written["code"] != 0 || len(c.Unmapped) != 1 {
		t.Errorf("one code too many: %d written, %d answered", written["code"], len(c.Unmapped))
	}
	for hour := range 48 {
		s.now = s.now.Add(time.Hour)
		for again := range 2 {
			if _, written = say(int32(hour+1), signal(5)); written["code"] != 1 {
				t.Fatalf("a known code, time %d of hour %d: %d codes are written", again, hour, written["code"])
			}
		}
	}
	all := 0
	s.Records(func(_ []byte, state facts.Record) {
		if code, ok := state.(*facts.CodeState); ok {
			all++
			if len(code.Rooms) > 20 || len(code.Hours) > 24 {
				t.Errorf("a code has %d rooms and %d hours", len(code.Rooms), len(code.Hours))
			}
		}
	})
	if all != maxCodes {
		t.Errorf("the worklist has %d codes, want %d", all, maxCodes)
	}
	t.Logf("the largest record has %d bytes", s.largest)
}
