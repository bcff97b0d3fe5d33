package acuity

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// minute is an instant n minutes into the day of the tests.
func minute(n int) Instant { return Instant(1_772_600_000_000 + n*60_000) }

// adt is an event of the tests: received a minute after it happened.
func adt(id string, kind EventType, at int, place string) Event {
	e := Event{
		ID: id, Type: kind, At: minute(at), RecordedAt: minute(at), ReceivedAt: minute(at + 1),
		Visit: "v1", Patient: "p1", Place: spot(place), Feed: ChannelHL7,
	}
	return e
}

// spot reads "OBTRI^T02^01".
func spot(s string) Location {
	parts := append(strings.Split(s, "^"), "", "")
	return Location{PointOfCare: parts[0], Room: parts[1], Bed: parts[2]}
}

// cancel is a cancel of what happened at key.
func cancel(id string, kind EventType, at, key int, place string) Event {
	e := adt(id, kind, at, "")
	e.Cancels = minute(key)
	if key < 0 {
		e.Cancels = 0
	}
	if kind == A12 {
		e.Prior = spot(place)
	} else {
		e.Place = spot(place)
	}
	return e
}

func with(e Event, change func(*Event)) Event {
	change(&e)
	return e
}

// testRooms is one room per point of care and room, whatever the bed.
func testRooms(a, b Location) bool {
	return a.PointOfCare == b.PointOfCare && a.Room == b.Room && a.Room != ""
}

// outline is a story in short: its stays, open or not, class, moves and what
// became of the events.
func outline(s story) string {
	var b strings.Builder
	for _, p := range s.stays {
		name := p.Place.Room
		if name == "" {
			name = "-"
		}
		fmt.Fprintf(&b, "%s %s ", name, since(p.From))
		if p.To != 0 {
			fmt.Fprintf(&b, "to %s ", since(p.To))
		}
	}
	if !s.open {
		b.WriteString("closed ")
	}
	if s.class != 0 {
		fmt.Fprintf(&b, "class %c ", s.class)
	}
	fmt.Fprintf(&b, "moves %d", len(s.moves))
	if len(s.waiting) > 0 {
		fmt.Fprintf(&b, " waiting %d", len(s.waiting))
	}
	for _, t := range s.told {
		if r := t.fate.reason(); r != "" {
			fmt.Fprintf(&b, " %s:%s", t.event.ID, r)
		}
		if t.remarks != 0 {
			fmt.Fprintf(&b, " %s!%s", t.event.ID, strings.Join(t.remarks.codes(), ","))
		}
	}
	return b.String()
}

func since(i Instant) string { return fmt.Sprint(int(i-minute(0)) / 60_000) }

var stories = map[string]struct {
	events []Event
	how    telling
	want   string
}{
	"nothing": {want: "closed moves 0"},
	"admit":   {events: []Event{adt("a", A01, 0, "LD^1")}, want: "1 0 class I moves 1"},
	"register then admit is a conversion, and two moves (R11, R12)": {
		events: []Event{adt("a", A04, 0, "TRI^2"), adt("b", A01, 60, "LD^1")},
		want:   "2 0 to 60 1 60 class I moves 2",
	},
	"transfer and discharge": {
		events: []Event{adt("a", A01, 0, "LD^1"), adt("b", A02, 60, "MBU^3"), adt("c", A03, 120, "MBU^3")},
		want:   "1 0 to 60 3 60 to 120 closed class I moves 3",
	},
	"same room": {
		events: []Event{adt("a", A01, 0, "LD^1^A"), adt("b", A02, 60, "LD^1^B")},
		want:   "1 0 class I moves 1 b:same_room",
	},
	"transfer first opens (R5)": {events: []Event{adt("a", A02, 0, "LD^1")}, want: "1 0 class I moves 1"},
	"transfer after discharge (R5)": {
		events: []Event{adt("a", A01, 0, "LD^1"), adt("b", A03, 10, ""), adt("c", A02, 20, "MBU^3")},
		want:   "1 0 to 10 closed class I moves 2 c:transfer_after_discharge c!transfer_after_discharge",
	},
	"update alone keeps facts only (R5)": {
		events: []Event{with(adt("a", A08, 0, "LD^1"), func(e *Event) { e.Class = 'I' })},
		want:   "closed class I moves 0",
	},
	"trusted update places": {
		events: []Event{adt("a", A08, 0, "LD^1"), adt("b", A08, 9, "LD^2")},
		how:    telling{TrustA08: true}, want: "1 0 to 9 2 9 moves 0",
	},
	"update never moves": {
		events: []Event{adt("a", A01, 0, "LD^1"), adt("b", A08, 5, "LD^2")},
		want:   "1 0 class I moves 1 b!place_differs",
	},
	"null place (P6)": {
		events: []Event{
			adt("a", A01, 0, "LD^1"), with(adt("b", A08, 5, ""), func(e *Event) { e.PlaceNull = true }),
			with(adt("c", A02, 9, ""), func(e *Event) { e.PlaceNull = true }),
		},
		want: "1 0 to 9 - 9 class I moves 2",
	},
	"admit without place is unplaced": {events: []Event{adt("a", A01, 0, "")}, want: "- 0 class I moves 1"},
	"transfer without place": {
		events: []Event{adt("a", A01, 0, "LD^1"), adt("b", A02, 9, "")},
		want:   "1 0 class I moves 1 b:location_missing",
	},
	"registration of an inpatient is an update (R11)": {
		events: []Event{adt("a", A01, 0, "LD^1"), with(adt("b", A04, 9, "TRI^2"), func(e *Event) { e.Class = 'O' })},
		want:   "1 0 class I moves 1 b!place_differs",
	},
	"outpatient to inpatient and back (R1)": {
		events: []Event{adt("a", A04, 0, "TRI^2"), adt("b", A06, 9, "LD^1"), adt("c", A07, 20, "TRI^2")},
		want:   "2 0 to 9 1 9 to 20 2 20 class O moves 3",
	},
	"cancel of a conversion leaves the registration": {
		events: []Event{adt("a", A04, 0, "TRI^2"), adt("b", A01, 60, "LD^1"), cancel("c", A11, 66, 60, "LD^1")},
		want:   "2 0 class O moves 1 b:cancelled",
	},
	"cancel without key takes the last (R2)": {
		events: []Event{adt("a", A04, 0, "TRI^2"), adt("b", A01, 60, "LD^1"), cancel("c", A11, 66, -1, "TRI^2")},
		want:   "2 0 class O moves 1 b:cancelled",
	},
	"cancel of admit voids what follows (R4)": {
		events: []Event{adt("a", A01, 0, "LD^1"), adt("b", A02, 9, "MBU^3"), adt("c", A03, 20, ""), cancel("d", A11, 5, 0, "")},
		want:   "closed moves 0 a:cancelled b:admit_cancelled c:admit_cancelled",
	},
	"but not what follows the next admit (R4)": {
		events: []Event{adt("a", A01, 0, "LD^1"), adt("b", A02, 9, "MBU^3"), adt("c", A01, 20, "LD^4"), adt("d", A02, 30, "MBU^5"), cancel("e", A11, 5, 0, "")},
		want:   "4 20 to 30 5 30 class I moves 2 a:cancelled b:admit_cancelled",
	},
	"cancel of transfer": {
		events: []Event{adt("a", A01, 0, "LD^1"), adt("b", A02, 9, "OR^1"), cancel("c", A12, 12, 9, "OR^1")},
		want:   "1 0 class I moves 1 b:cancelled",
	},
	"location selects among transfers of one time (R2)": {
		events: []Event{
			adt("a", A01, 0, "LD^1"), adt("b", A02, 9, "OR^1"), adt("c", A02, 9, "MBU^3"), cancel("d", A12, 12, 9, "MBU^3"),
		},
		want: "1 0 to 9 1 9 class I moves 2 c:cancelled",
	},
	"a location that none has is ignored (R2)": {
		events: []Event{adt("a", A01, 0, "LD^1"), adt("b", A02, 9, "OR^1"), cancel("c", A12, 12, 9, "LD^1")},
		want:   "1 0 class I moves 1 b:cancelled",
	},
	"cancel of discharge": {
		events: []Event{adt("a", A01, 0, "LD^1"), adt("b", A03, 9, ""), cancel("c", A13, 12, 9, "")},
		want:   "1 0 class I moves 1 b:cancelled",
	},
	"discharge alone (R14)": {events: []Event{adt("a", A03, 0, "LD^1")}, want: "closed moves 0"},
	"second discharge": {
		events: []Event{adt("a", A01, 0, "LD^1"), adt("b", A03, 9, ""), adt("c", A03, 12, "")},
		want:   "1 0 to 9 closed class I moves 2 c:already_discharged",
	},
	"cancel that waits": {
		events: []Event{adt("a", A01, 0, "LD^1"), cancel("b", A12, 12, 9, "OR^1")},
		want:   "1 0 class I moves 1 waiting 1 b!cancel_waiting",
	},
	"re-issue lives (R6)": {
		events: []Event{
			adt("a", A01, 0, "LD^1"), cancel("b", A11, 5, 0, "LD^1"),
			with(adt("c", A01, 0, "LD^1"), func(e *Event) { e.RecordedAt = minute(9) }),
		},
		want: "1 0 class I moves 1 a:cancelled",
	},
	"at least the earliest goes, though recorded after its cancel (R6)": {
		events: []Event{
			with(adt("a", A01, 0, "LD^1"), func(e *Event) { e.RecordedAt = minute(8) }),
			with(adt("b", A01, 0, "LD^1"), func(e *Event) { e.RecordedAt = minute(9) }), cancel("c", A11, 5, 0, "LD^1"),
		},
		want: "1 0 class I moves 1 a:cancelled",
	},
	"a cancel sent again does not take the re-issue": {
		events: []Event{
			adt("a", A01, 0, "LD^1"), cancel("b", A11, 5, 0, "LD^1"), cancel("c", A11, 5, 0, "LD^1"),
			with(adt("d", A01, 0, "LD^1"), func(e *Event) { e.RecordedAt = minute(9) }),
		},
		want: "1 0 class I moves 1 a:cancelled",
	},
	"a cancel without key sent again takes one": {
		events: []Event{
			adt("a", A01, 0, "LD^1"), adt("b", A02, 3, "LD^2"), adt("c", A02, 6, "LD^3"),
			cancel("d", A12, 9, -1, ""), cancel("e", A12, 9, -1, ""),
		},
		want: "1 0 to 3 2 3 class I moves 2 c:cancelled",
	},
	"two cancels without key take two": {
		events: []Event{
			adt("a", A01, 0, "LD^1"), adt("b", A02, 3, "LD^2"), adt("c", A02, 6, "LD^3"),
			cancel("d", A12, 9, -1, ""), cancel("e", A12, 10, -1, ""),
		},
		want: "1 0 class I moves 1 b:cancelled c:cancelled",
	},
	"join at the coarser precision (R3)": {
		events: []Event{
			with(adt("a", A01, 0, "LD^1"), func(e *Event) { e.At += 42_000; e.Precision = Second }),
			with(cancel("b", A11, 5, 0, ""), func(e *Event) { e.CancelsPrecision = Minute }),
		},
		want: "closed moves 0 a:cancelled",
	},
	"no join outside of the span (R3)": {
		events: []Event{
			with(adt("a", A01, 0, "LD^1"), func(e *Event) { e.At += 60_000; e.Precision = Second }),
			with(cancel("b", A11, 5, 0, ""), func(e *Event) { e.CancelsPrecision = Minute }),
		},
		want: "1 1 class I moves 1 waiting 1 b!cancel_waiting",
	},
	"equal times (R8)": {
		events: []Event{adt("a", A03, 0, ""), adt("b", A02, 0, "MBU^3"), adt("c", A01, 0, "LD^1"), adt("d", A04, 0, "TRI^2")},
		want:   "2 0 to 0 1 0 to 0 3 0 to 0 closed class I moves 4",
	},
	"duplicate": {
		events: []Event{adt("a", A01, 0, "LD^1"), with(adt("a", A01, 0, "LD^1"), func(e *Event) { e.ReceivedAt += 9 })},
		want:   "1 0 class I moves 1 a:duplicate",
	},
	"other event": {events: []Event{adt("a", EventOther, 0, "LD^1")}, want: "closed moves 0 a:event_type"},
	"newborn makes no turnover (R12)": {
		events: []Event{with(adt("a", A01, 0, "NBN^1"), func(e *Event) { e.Newborn = true })}, want: "1 0 class I moves 0",
	},
	"the future is now (T2)": {
		events: []Event{with(adt("a", A01, 60, "LD^1"), func(e *Event) { e.ReceivedAt = minute(50) })},
		want:   "1 50 class I moves 1 a!time_in_future",
	},
	"a little ahead is now without a word (T2)": {
		events: []Event{with(adt("a", A01, 60, "LD^1"), func(e *Event) { e.ReceivedAt = minute(55) })},
		want:   "1 55 class I moves 1",
	},
	"prior place only warns (R15)": {
		events: []Event{adt("a", A01, 0, "LD^1"), with(adt("b", A02, 9, "OR^2"), func(e *Event) { e.Prior = spot("LD^7") })},
		want:   "1 0 to 9 2 9 class I moves 2 b!prior_place_differs",
	},
	"cancel of what was folded away (R10)": {
		events: []Event{adt(foldedID, A01, 0, "LD^1"), cancel("b", A12, 30, 5, ""), adt("c", A02, 4, "LD^9")},
		how:    telling{FoldAt: minute(10)},
		want:   "1 0 class I moves 1 c:event_too_old c!event_too_old b:cancel_too_late b!event_too_old",
	},
	"readmission under the same number": {
		events: []Event{adt("a", A01, 0, "LD^1"), adt("b", A03, 9, ""), adt("c", A01, 90, "LD^2")},
		want:   "1 0 to 9 2 90 class I moves 3",
	},
}

func TestTell(t *testing.T) {
	for name, c := range stories {
		t.Run(name, func(t *testing.T) {
			c.how.SameRoom = testRooms
			if got := outline(tell(c.events, c.how)); got != c.want {
				t.Errorf("story\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// Every order of the events of every story above tells the same story.
func TestTellInAnyOrder(t *testing.T) {
	for name, c := range stories {
		c.how.SameRoom = testRooms
		want := tell(c.events, c.how)
		permute(slices.Clone(c.events), func(events []Event) {
			if got := tell(events, c.how); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: another order tells\n%s\nfor\n%s", name, outline(got), outline(want))
			}
		})
	}
}

// A whole visit of seven events in all 5,040 orders.
func TestTellWholeVisitInAnyOrder(t *testing.T) {
	visits := map[string][]Event{
		"transfer cancelled": {
			adt("a", A04, 0, "TRI^2"), adt("b", A01, 60, "LD^1"), with(adt("c", A08, 90, "LD^1"), withCodes(DiagnosisSnapshot, "O14.13")),
			adt("d", A02, 100, "OR^1"), cancel("e", A12, 105, 100, "OR^1"), adt("f", A02, 200, "MBU^3"), adt("g", A03, 900, ""),
		},
		"admit cancelled and again": {
			adt("a", A04, 0, "TRI^2"), adt("b", A01, 60, "LD^1"), cancel("c", A11, 65, 60, ""), adt("d", A02, 62, "LD^4"),
			adt("d", A02, 62, "LD^4"), adt("e", A01, 80, "LD^5"), cancel("f", A13, 70, 66, ""),
		},
		"discharge cancelled, cancels without keys": {
			with(adt("a", A01, 0, "LD^1"), withCodes(DiagnosisSnapshot, "O13.3", "Z37.0")), adt("b", A02, 30, "MBU^3"),
			adt("c", A03, 40, ""), cancel("d", A13, 50, -1, ""), cancel("e", A12, 60, -1, ""), adt("f", A02, 70, "MBU^4"),
			with(adt("g", A08, 80, ""), withCodes(DiagnosisDelta, "O72.1")),
		},
	}
	for name, events := range visits {
		t.Run(name, func(t *testing.T) {
			how := telling{SameRoom: testRooms}
			want := tell(events, how)
			table := &roomTable{}
			primary := want.primary(table, 0, false)
			permute(slices.Clone(events), func(events []Event) {
				got := tell(events, how)
				if outline(got) != outline(want) || !reflect.DeepEqual(got.diagnoses, want.diagnoses) || got.primary(table, 0, false) != primary {
					t.Fatalf("another order tells\n%s\nfor\n%s", outline(got), outline(want))
				}
			})
		})
	}
}

// permute calls f with every order of events.
func permute(events []Event, f func([]Event)) {
	var next func(n int)
	next = func(n int) {
		if n <= 1 {
			f(events)
			return
		}
		for i := range n {
			next(n - 1)
			if n%2 == 0 {
				events[i], events[n-1] = events[n-1], events[i]
			} else {
				events[0], events[n-1] = events[n-1], events[0]
			}
		}
	}
	next(len(events))
}

// withCodes adds ICD-10-CM diagnoses.
func withCodes(mode DiagnosisMode, codes ...string) func(*Event) {
	return func(e *Event) {
		e.DiagnosisMode = mode
		for _, c := range codes {
			e.Diagnoses = append(e.Diagnoses, Diagnosis{System: ICD10CM, Code: c})
		}
	}
}

// anyEvents draws the events of a visit, with clashing times and keys.
func anyEvents(t *rapid.T) []Event {
	types := []EventType{A01, A02, A02, A03, A04, A06, A08, A08, A11, A12, A13}
	places := []string{"", "TRI^1", "LD^1", "LD^2", "OR^1", "MBU^1"}
	n := rapid.IntRange(0, 9).Draw(t, "n")
	var events []Event
	for i := range n {
		e := adt(fmt.Sprint(i), rapid.SampledFrom(types).Draw(t, "type"), rapid.IntRange(0, 6).Draw(t, "at"),
			rapid.SampledFrom(places).Draw(t, "place"))
		e.RecordedAt = e.At + Instant(rapid.IntRange(-1, 2).Draw(t, "recorded")*60_000)
		e.ReceivedAt = e.At + Instant(rapid.IntRange(-1, 3).Draw(t, "received")*60_000)
		e.Class = rapid.SampledFrom([]byte{0, 0, 'I', 'O'}).Draw(t, "class")
		if isCancel(e.Type) {
			e.Prior = spot(rapid.SampledFrom(places).Draw(t, "prior"))
			if rapid.Bool().Draw(t, "keyed") {
				e.Cancels = minute(rapid.IntRange(0, 6).Draw(t, "key"))
			}
		}
		switch rapid.IntRange(0, 4).Draw(t, "diagnoses") {
		case 0:
			withCodes(DiagnosisSnapshot, rapid.SampledFrom([]string{"O13.3", "Z37.0", "O82"}).Draw(t, "code"))(&e)
		case 1:
			withCodes(DiagnosisDelta, "O14.10")(&e)
			e.Diagnoses[0].Delete = rapid.Bool().Draw(t, "delete")
		}
		events = append(events, e)
	}
	if n > 0 && rapid.Bool().Draw(t, "again") {
		again := events[rapid.IntRange(0, n-1).Draw(t, "which")]
		again.ReceivedAt += 1
		if again.ReceivedAt > again.At+1 { // the receipt is part of the event only where it bounds its time
			events = append(events, again)
		}
	}
	return events
}

func TestTellOrderNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := anyEvents(t)
		how := telling{SameRoom: testRooms, TrustA08: rapid.Bool().Draw(t, "trust")}
		want := tell(events, how)
		shuffled := slices.Clone(events)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)) //nolint:gosec // a test
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got := tell(shuffled, how); !reflect.DeepEqual(got, want) {
			t.Fatalf("another order tells\n%s\nfor\n%s", outline(got), outline(want))
		}
	})
}

// facts is a story without what is told of each event.
func facts(s story) string {
	s.told = nil
	s.lastAt = 0
	return fmt.Sprintf("%s %+v %v %v", outline(s), s.diagnoses, s.birth, s.cesarean)
}

func TestTellReplayChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := anyEvents(t)
		how := telling{SameRoom: testRooms}
		once, twice := tell(events, how), tell(append(slices.Clone(events), events...), how)
		if facts(once) != facts(twice) || once.primary(&roomTable{}, 0, false) != twice.primary(&roomTable{}, 0, false) {
			t.Fatalf("twice tells\n%s\nfor\n%s", outline(twice), outline(once))
		}
	})
}

// A transfer with its cancel, or an admission with its cancel, leaves the visit
// as it was, clocks included (R13).
func TestTellCancelRestores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := slices.DeleteFunc(anyEvents(t), func(e Event) bool { return isCancel(e.Type) })
		for i := range events {
			events[i].RecordedAt, events[i].ReceivedAt = events[i].At, events[i].At+1
		}
		kind, undo := A02, A12
		if rapid.Bool().Draw(t, "admit") {
			kind, undo = A01, A11
		}
		table, how := &roomTable{}, telling{SameRoom: testRooms}
		at := rapid.IntRange(20, 30).Draw(t, "at") // after all others: nothing else hangs on it
		place := rapid.SampledFrom([]string{"LD^9", "OR^1", "MBU^8"}).Draw(t, "place")
		key := at
		if rapid.Bool().Draw(t, "without key") {
			key = -1
		}
		before := tell(events, how)
		after := tell(append(slices.Clone(events), adt("x", kind, at, place), cancel("y", undo, at+2, key, place)), how)
		if facts(before) != facts(after) || before.primary(table, 0, false) != after.primary(table, 0, false) {
			t.Fatalf("cancelled event left\n%s\nfor\n%s", outline(after), outline(before))
		}
	})
}

func TestStoryWaitsADay(t *testing.T) {
	s := tell([]Event{cancel("b", A12, 12, 9, ""), cancel("c", A13, 20, 9, "")}, telling{})
	for name, c := range map[string]struct{ now, next, count int }{
		"both":    {now: 30, count: 2, next: 13 + 24*60},
		"limit":   {now: 13 + 24*60, count: 1, next: 21 + 24*60},
		"neither": {now: 21 + 24*60},
	} {
		count, next := s.cancelsWaiting(minute(c.now))
		if c.count != count || (c.next != 0 && next != minute(c.next)) || (c.next == 0 && next != 0) {
			t.Errorf("%s: %d waiting, next %v", name, count, next)
		}
	}
}

func TestStoryAt(t *testing.T) {
	s := tell(stories["transfer and discharge"].events, telling{SameRoom: testRooms})
	for at, want := range map[int]string{0: "1", 59: "1", 60: "3", 119: "3"} {
		if p, ok := s.at(minute(at)); !ok || p.Place.Room != want {
			t.Errorf("at %d: room %q %v, want %s", at, p.Place.Room, ok, want)
		}
	}
	for _, at := range []int{-1, 120} {
		if p, ok := s.at(minute(at)); ok {
			t.Errorf("at %d: in room %q", at, p.Place.Room)
		}
	}
	if told, ok := s.of("b"); !ok || !told.moved {
		t.Error("the transfer is not told")
	}
}

func BenchmarkTell(b *testing.B) {
	events := []Event{
		adt("a", A04, 0, "TRI^2"), with(adt("b", A08, 10, "TRI^2"), withCodes(DiagnosisSnapshot, "O13.3")), adt("c", A01, 60, "LD^1"),
		with(adt("d", A08, 90, "LD^1"), withCodes(DiagnosisSnapshot, "O13.3", "O14.13")), adt("e", A02, 100, "OR^1"),
		cancel("f", A12, 105, 100, "OR^1"), adt("g", A02, 200, "MBU^3"), adt("h", A08, 300, "MBU^3"),
		adt("i", A08, 400, "MBU^3"), adt("j", A03, 900, ""),
	}
	b.Run("story", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = tell(events, telling{SameRoom: testRooms})
		}
	})
	b.Run("primary", func(b *testing.B) {
		s := tell(events[:9], telling{SameRoom: testRooms})
		table := &roomTable{}
		b.ReportAllocs()
		for b.Loop() {
			_ = s.primary(table, 0, false)
		}
	})
}
