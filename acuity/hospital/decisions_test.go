package hospital_test

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/acuity/hospital/hospitaltest"
	"svc/acuity/score"
)

// The tests in decisions_*_test.go follow docs/decisions.md and docs/scoring.md line by line. Each row names its rule,
// sends facts to a unit, and gives the documented result.

// decision is one rule with the facts to send and the expected readings.
type decision struct {
	say  []acuity.Observation
	read []axisReading
	// answers are the expected short forms of the last answers, in order. A short form contains the outcome or
	// reason, then "+" activated factors, "-" expired factors, "!" warnings and "?" unmapped codes. "" means that the
	// observation was applied and that the answer lists nothing. Earlier answers are not checked.
	answers []string
}

// axisReading is the display expected at a given number of minutes after the start of the test. Rooms are separated by
// "; ", and each has the form "id demand factor/class …" in display order. A factor with "~" repeats its twin; "stale"
// and "boarder" mark the room. Score, color and nursing level follow from docs/scoring.md.
type axisReading struct {
	at   float64 // minutes
	want string
}

var dawn = acuity.At(time.Date(2026, 3, 4, 8, 0, 0, 0, time.UTC))

// minute returns the instant m minutes after the start of the test.
func minute(m float64) acuity.Instant { return dawn + acuity.Instant(m*60_000) }

// decide runs each row through a unit that caches derived state, and through one that recomputes everything at each
// step.
func decide(t *testing.T, rows map[string]decision) {
	t.Helper()
	for rule, row := range rows {
		t.Run(rule, func(t *testing.T) {
			if len(row.read) == 0 && len(row.answers) == 0 {
				t.Fatal("nothing is looked at")
			}
			for i := range row.say {
				row.say[i].Hospital = "st-test"
			}
			var changes []acuity.Change
			u, said := hospital.New("st-test"), 0
			until := func(now acuity.Instant) {
				for {
					if _, more := u.Advance(now); !more {
						return
					}
				}
			}
			speak := func(now acuity.Instant) {
				for ; said < len(row.say) && row.say[said].ReceivedAt <= now; said++ {
					until(row.say[said].ReceivedAt)
					changes = append(changes, u.Apply(&row.say[said], int64(said)))
				}
			}
			for _, r := range row.read {
				now := minute(r.at)
				speak(now)
				until(now)
				want := expected(t, r.want)
				v := score.Judge(u.Chart(), now)
				if got := rendered(&v); got != want {
					t.Errorf("at %v min:\n got %s\nwant %s", r.at, got, want)
				}
				f := hospitaltest.Fold(row.say[:said], now)
				if got := rendered(&f.Verdict); got != want {
					t.Errorf("at %v min, folded:\n got %s\nwant %s", r.at, got, want)
				}
			}
			speak(minute(1e6))
			for i, want := range row.answers {
				if got := answered(&changes[len(changes)-len(row.answers)+i]); got != want {
					t.Errorf("answer %d: got %q, want %q", i, got, want)
				}
			}
		})
	}
}

// rendered lists the rooms that have a demand or a factor, in the format that expected returns.
func rendered(v *score.Verdict) string {
	var rooms []string
	for i := range v.Rooms {
		r := &v.Rooms[i]
		if r.Demand == 0 && len(r.Factors) == 0 {
			continue
		}
		s := fmt.Sprintf("%d %d %d %s %s", r.ID, r.Demand, r.Score, r.Color, r.Demand.Nursing())
		for j := range r.Factors {
			s += fmt.Sprintf(" %s/%d", r.Factors[j].Factor.ID(), r.Factors[j].Severity)
		}
		if r.Stale {
			s += " stale"
		}
		if r.Boarder {
			s += " boarder"
		}
		if r.Double {
			s += " double"
		}
		if r.UnnamedFetus {
			s += " unnamed"
		}
		rooms = append(rooms, s)
	}
	return strings.Join(rooms, "; ")
}

// expected converts a reading to the format of rendered, by adding the score from docs/scoring.md: 20 points for each
// nurse, at most 40, plus 60 × (1 - Π(1-w)) with the weights 0, .08, .25, .50, .85.
func expected(t *testing.T, want string) string {
	t.Helper()
	if want == "" {
		return ""
	}
	var rooms []string
	for room := range strings.SplitSeq(want, "; ") {
		words := strings.Fields(room)
		demand, err := strconv.Atoi(words[1])
		if err != nil {
			t.Fatal(err)
		}
		left := big.NewRat(1, 1)
		factors, marks := "", ""
		for _, w := range words[2:] {
			id, class, isFactor := strings.Cut(w, "/")
			if !isFactor {
				marks += " " + w
				continue
			}
			if !strings.HasPrefix(id, "~") {
				left.Mul(left, map[string]*big.Rat{
					"0": big.NewRat(1, 1), "1": big.NewRat(92, 100), "2": big.NewRat(75, 100), "3": big.NewRat(50, 100), "4": big.NewRat(15, 100),
				}[class])
			}
			factors += " " + strings.TrimPrefix(w, "~")
		}
		points := new(big.Rat).Mul(big.NewRat(60, 1), left.Sub(big.NewRat(1, 1), left))
		points.Add(points, big.NewRat(int64(20*min(demand, 120)), 60))
		points.Add(points, big.NewRat(1, 2))
		score := new(big.Int).Quo(points.Num(), points.Denom()).Int64()
		color := "red"
		switch {
		case factors == "":
			color = "gray"
		case score < 20:
			color = "green"
		case score < 40:
			color = "yellow"
		case score < 70:
			color = "orange"
		}
		level := ">2:1"
		for _, step := range []struct {
			most int
			name string
		}{{0, "none"}, {15, "1:4"}, {20, "1:3"}, {30, "1:2"}, {60, "1:1"}, {89, "1:1+"}, {120, "2:1"}} {
			if demand <= step.most {
				level = step.name
				break
			}
		}
		rooms = append(rooms, fmt.Sprintf("%s %d %d %s %s%s%s", words[0], demand, score, color, level, factors, marks))
	}
	return strings.Join(rooms, "; ")
}

// answered returns a change in the short form of decision.answers.
func answered(c *acuity.Change) string {
	var out []string
	switch {
	case c.Reason != "":
		out = append(out, c.Reason)
	case c.Outcome != acuity.Applied:
		out = append(out, [...]string{"applied", "duplicate", "ignored", "rejected", "time"}[c.Outcome])
	}
	list := func(sign string, ids []string) {
		for _, id := range ids {
			out = append(out, sign+id)
		}
	}
	var activated, expired, warnings, unmapped []string
	for _, f := range c.Activated {
		activated = append(activated, f.Factor.ID())
	}
	for _, f := range c.Expired {
		expired = append(expired, f.Factor.ID())
	}
	for _, w := range c.Warnings {
		warnings = append(warnings, w.Code)
	}
	for _, un := range c.Unmapped {
		unmapped = append(unmapped, un.Code)
	}
	list("+", activated)
	list("-", expired)
	list("!", warnings)
	list("?", unmapped)
	return strings.Join(out, " ")
}
