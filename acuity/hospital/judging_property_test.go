package hospital

import (
	"testing"

	"pgregory.net/rapid"
)

// During a step, the previous step's verdict must not change, because the two verdicts are compared. The step
// overwrites charts, so it copies the evidence to which the previous verdict refers. A plain unit does not need these
// copies: it creates its charts in new memory.
func TestTheVerdictBeforeStaysAsItWas(t *testing.T) {
	for name, plain := range map[string]bool{"kept": false, "plain": true} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := &world{t: t, now: day}
				u := New(testHospital)
				u.registry.Work.Plain = plain
				was := map[int32]string{}
				look := func() {
					for _, r := range u.scoring.compared {
						if before, _ := u.scoring.verdicts(r); before != nil && was[r.ID] != rendered(seen(before)) {
							t.Fatalf("room %d\n%s", r.ID, difference(was[r.ID], rendered(seen(before))))
						}
					}
					clear(was)
					for i := range u.scoring.verdict.Rooms {
						was[u.scoring.verdict.Rooms[i].ID] = rendered(seen(&u.scoring.verdict.Rooms[i]))
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
