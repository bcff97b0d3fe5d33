package evidence

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/terminology"
)

// Omitting repeated statements from a list does not change the evidence.
func TestThinnedIsAsIfAllWereKept(t *testing.T) {
	lines := []string{mag, mag + stopped, mag + "|hold", fhr + catI, fhr + catII, fhr + catIII, fhr2 + catII, fhr2 + catIII, mews + "5", mews + "2", ack, bmi + "39", bmi + "41"}
	r := &terminology.Reader{Catalogue: catalogue.Default()}
	findRedundant := 0
	rapid.Check(t, func(t *rapid.T) {
		all, kept := &Statements{}, &Statements{}
		at, few := 0, lines[:rapid.IntRange(1, len(lines)).Draw(t, "lines")]
		for number := range rapid.Int64Range(1, 20).Draw(t, "statements") {
			at += rapid.SampledFrom([]int{0, 3, 5, 40, 70, 300}).Draw(t, "after")
			h := statedAt{at: at, line: rapid.SampledFrom(few).Draw(t, "line")}.statement().Statement
			h.Number = number + 1
			all.Add(h)
			kept.Keep(h, func(*Statement) {})
		}
		findRedundant += all.Len() - kept.Len()
		want := slices.Clone(Fold(&Input{Statements: []*Statements{all}}, r))
		if got := Fold(&Input{Statements: []*Statements{kept}}, r); !slices.Equal(got, want) {
			t.Fatalf("\n got %+v\nwant %+v", got, want)
		}
	})
	if findRedundant == 0 {
		t.Error("no statement was left out")
	}
}

// A list never has more than MaxStatements+spareStatements statements. Keep passes each statement that it drops to
// the callback lose, once, and never drops the newest statement with a code.
func TestKeepHoldsTheCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, lost := &Statements{}, map[int64]bool{}
		newest := map[string]int64{}
		codes := rapid.IntRange(1, MaxStatements/2).Draw(t, "codes")
		step := rapid.SampledFrom([]int{1, 16}).Draw(t, "minutes apart")
		added := rapid.Int64Range(1, 2*MaxStatements).Draw(t, "statements")
		for number := int64(1); number <= added; number++ {
			code := fmt.Sprint("X", rapid.IntRange(1, codes).Draw(t, "code"))
			h := statedAt{at: int(number) * step, line: "obs|local|" + code}.statement().Statement
			h.Number, newest[code] = number, number
			l.Keep(h, func(h *Statement) {
				if lost[h.Number] {
					t.Fatalf("%d is lost twice", h.Number)
				}
				lost[h.Number] = true
			})
			if l.Len() > MaxStatements+spareStatements {
				t.Fatalf("%d statements are kept", l.Len())
			}
		}
		left := l.ByArrival(func(*Statement) bool { return true })
		if len(left) != l.Len() || len(left)+len(lost) != int(added) {
			t.Fatalf("of %d statements %d are lost, %d counted and %d there", added, len(lost), l.Len(), len(left))
		}
		for _, h := range left {
			if lost[h.Number] {
				t.Fatalf("%d is lost and kept", h.Number)
			}
		}
		for code, number := range newest {
			if lost[number] {
				t.Fatalf("the newest of %s is lost", code)
			}
		}
	})
}

// ResourceStatements keeps at most MaxStatements statements. When it is full, it drops observations that a newer
// observation with the same code supersedes before it drops a running infusion.
func TestResourcesKeepTheInfusion(t *testing.T) {
	var list ResourceStatements
	lost := 0
	for number := range 3 * MaxStatements {
		h := statedAt{at: number, line: mews + "2", of: fmt.Sprint("o", number)}.statement()
		if number == 0 {
			h = statedAt{line: mag, of: "bag"}.statement()
		}
		h.Number = int64(number + 1)
		list.Keep(*h, func(*ResourceStatement) { lost++ })
	}
	if len(list) != MaxStatements || lost != 2*MaxStatements {
		t.Errorf("%d are kept and %d lost, want %d and %d", len(list), lost, MaxStatements, 2*MaxStatements)
	}
	if list[0].WholeResource() != "bag" {
		t.Errorf("the infusion is lost: the oldest is %q", list[0].WholeResource())
	}
	if last := list[len(list)-1].Number; last != 3*MaxStatements {
		t.Errorf("the newest is %d", last)
	}
}

// A repeated statement is kept if it begins a run because the equal statements before it do not count. They do not
// count if another code for the concept, or the same code at the same instant, contradicts them, or if the early
// warning was acknowledged.
func TestRepeatThatBeginsARunStays(t *testing.T) {
	for name, said := range map[string][]statedAt{
		"contradicted by another code": {{at: 0, line: fhr + catII}, {at: 3, line: fhr2 + catIII}, {at: 6, line: fhr + catII}, {at: 9, line: fhr + catII}},
		"contradicted at its instant":  {{at: 3, line: mag + stopped}, {at: 3, line: mag}, {at: 6, line: mag}, {at: 9, line: mag}},
		"acknowledged":                 {{at: 0, line: mews + "5"}, {at: 3, line: ack}, {at: 6, line: mews + "5"}, {at: 9, line: mews + "5"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &Statements{}
			for i, s := range said {
				h := s.statement().Statement
				h.Number = int64(i + 1)
				l.Keep(h, func(h *Statement) { t.Errorf("the statement of minute %d is left out", (h.ReceivedAt-noon)/60_000) })
			}
		})
	}
}

// A score below the limit clears an early warning from a census, but no longer once the list has dropped the score.
func TestLostScoreClearsNothing(t *testing.T) {
	r := &terminology.Reader{Catalogue: catalogue.Default()}
	warning := terminology.CatalogueIndex().EarlyWarning
	l := &Statements{}
	in := &Input{Statements: []*Statements{l}, Listed: []Listed{{Factor: warning, Since: noon}}, Cache: &Cache{}}
	for i, s := range []statedAt{{at: 5, line: mews + "2"}, {at: 10, line: mews + "5"}} {
		h := s.statement().Statement
		h.Number = int64(i + 1)
		l.Add(h)
	}
	listed := func() bool {
		return slices.ContainsFunc(Fold(in, r), func(e acuity.Evidence) bool { return e.Factor == warning && e.Kind == acuity.ByCensus })
	}
	if listed() {
		t.Error("the score clears nothing")
	}
	c := &l.list[0]
	l.dropAt(c, 0)
	if !listed() {
		t.Error("the score was lost, and clears the warning")
	}
}

// A hospital stores thousands of statements, so each statement must be small.
func TestStatementIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Statement{}); n > 56 {
		t.Errorf("a statement takes %d bytes, want at most 56", n)
	}
}
