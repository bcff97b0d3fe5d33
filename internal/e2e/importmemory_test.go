package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestManyImportsMemory sends 30 files at once to one svc read, in two rounds. The files of the first round have
// 30,000 rows and are refused; the files of the second round are as large as svc accepts. The peak resident memory of
// the process must stay below 400 MiB.
func TestManyImportsMemory(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	const (
		atOnce       = 30
		memoryAtMost = 400 // MiB
	)
	hospitals := []string{"north", "south", "east", "west", "upper", "lower"}
	kafka, redis := embedServers(t, func(string, []string) string { return "" })
	p := startPair(t, kafka, redis, func(string) []string { return nil }, hospitals...)
	var administrators []*visitor
	for _, hospital := range hospitals {
		v := p.visitor(t)
		v.http.Timeout = 5 * time.Minute
		p.signInTo(t, v, hospital, "admin")
		administrators = append(administrators, v)
	}
	reader := p.readers[0]
	t.Logf("before the imports: %.0f MiB", reader.status(t, "VmHWM"))
	for _, wave := range []struct {
		name       string
		rows, code int
		read       int // expected status of the files that are processed; others may get 429 or 503
	}{
		{"30,000 rows", 30_000, 8, http.StatusUnprocessableEntity},
		{"5,000 long rows", 5_000, 64, http.StatusOK},
	} {
		var text strings.Builder
		text.WriteString("system,code,factorId\n")
		for i := range wave.rows {
			fmt.Fprintf(&text, "local,%0*d,none\n", wave.code, i)
		}
		form := url.Values{"rows": {text.String()}, "do": {"preview"}}
		var all sync.WaitGroup
		statuses := make([]int, atOnce)
		for i := range atOnce {
			all.Go(func() {
				v := administrators[i%len(administrators)]
				got, err := v.ask(0, http.MethodPost, "/app/integrations/terminology/import", form, "Sec-Fetch-Site", "same-origin", "Origin", v.base)
				if err != nil {
					t.Error(err)
					return
				}
				statuses[i] = got.status
			})
		}
		all.Wait()
		counts := map[int]int{}
		for _, status := range statuses {
			counts[status]++
		}
		peak := reader.status(t, "VmHWM")
		t.Logf("%d files of %s: %v, peak %.0f MiB", atOnce, wave.name, counts, peak)
		if counts[wave.read] == 0 || counts[wave.read]+counts[http.StatusTooManyRequests]+counts[http.StatusServiceUnavailable] != atOnce {
			t.Errorf("%s: answered %v", wave.name, counts)
		}
		if peak >= memoryAtMost && !raced { // the race detector multiplies memory use
			t.Errorf("%s: %.0f MiB at the peak, want less than %d", wave.name, peak, memoryAtMost)
		}
	}
}
