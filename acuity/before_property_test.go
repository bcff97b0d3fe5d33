package acuity

import (
	"testing"

	"pgregory.net/rapid"
)

// What a step compares its verdict with, to tell since when that holds, is the verdict
// before as it was: a step writes charts over, so the evidence behind it was copied. A
// unit that derives everything anew makes its charts in new memory instead.
func TestTheVerdictBeforeStaysAsItWas(t *testing.T) {
	for name, plain := range map[string]bool{"kept": false, "plain": true} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := &world{t: t, now: day}
				u := NewUnit(testHospital)
				u.plain = plain
				was := map[int32]string{}
				look := func() {
					for _, r := range u.work.judged {
						if before, _ := u.verdicts(r); r.was >= 0 && was[r.ID] != rendered(seen(before)) {
							t.Fatalf("room %d\n%s", r.ID, difference(was[r.ID], rendered(seen(before))))
						}
					}
					clear(was)
					for i := range u.verdict.Rooms {
						was[u.verdict.Rooms[i].ID] = rendered(seen(&u.verdict.Rooms[i]))
					}
				}
				for i := range rapid.IntRange(1, 25).Draw(t, "steps") {
					o := w.next()
					for {
						if _, more := u.Advance(o.ReceivedAt); !more {
							break
						}
						look()
					}
					u.Apply(&o, int64(i))
					look()
				}
			})
		})
	}
}
