package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestPagesOnServers opens the page and the wall display of a red unit on a real Kafka and Redis,
// and sends changes. While Redis or Kafka is unavailable, both pages say so and never show green.
// They recover without a reload.
func TestPagesOnServers(t *testing.T) {
	b := startBrowser(t)
	kafka, redis := needServers(t)
	if kafka.container != nil {
		kafka = startOwnKafka(t, kafka.pool) // the shared broker is never stopped
	}
	s := startSystemOn(t, kafka, redis, []string{"SVC_SECRETS_KEY=0123456789abcdef0123456789abcdef"}, "north")
	s.processor("p1")
	w := &ward{partner: s.partners[0], env: s.env}
	w.post(t, "census", census(t, 12, "labor-standard+high-eclampsia", "labor-standard"))
	eventually(t, 30*time.Second, func() error { // until the processor is assigned its partitions
		if a := w.get(t, "/api/v1/level"); a.status != http.StatusOK {
			return fmt.Errorf("%d %s", a.status, a.raw)
		}
		return nil
	})
	w.accepted(t, "staffing", staffing(3, false))
	v, wall := b.window(t, s.base, windows[1]), b.window(t, s.base, windows[0])
	v.signIn(w.link(t, "charge"))
	wall.openWall(w.wall(t))
	both := []*view{v, wall}
	shows := func(nurses int, within time.Duration) {
		t.Helper()
		for _, one := range both {
			one.await(fmt.Sprintf(`!document.body.dataset.lost && !document.body.dataset.held && document.querySelectorAll("#level dd")[1]?.textContent === "%d"`, nurses), within)
		}
	}
	shows(3, 20*time.Second)
	for _, one := range both {
		one.do("eval", map[string]any{"code": watching}, nil)
	}
	for n := range 20 {
		w.accepted(t, "staffing", staffing(4+n%3, false))
	}
	shows(5, 20*time.Second)
	s.redis.stop(t)
	for _, one := range both {
		one.await(`document.body.dataset.lost || document.body.dataset.held`, 40*time.Second)
	}
	s.redis.start(t)
	shows(5, 60*time.Second)
	s.kafka.stop(t)
	for _, one := range both {
		one.await(`document.body.dataset.lost || document.body.dataset.held`, 60*time.Second)
	}
	s.kafka.start(t)
	shows(5, 90*time.Second)
	for _, one := range both {
		for _, seen := range one.shown() {
			if strings.Contains(seen.level, "green") {
				t.Errorf("a page of a red unit was %q at %v", seen.level, seen.at)
			}
		}
	}
}
