package web_test

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/admin/users"
)

// TestWeight: the compressed size of a page and its assets is within the budget.
func TestWeight(t *testing.T) {
	w := newWard(t, rooms(40))
	w.forms = usual
	asset := regexp.MustCompile(`(?:href|src)="(/assets/[^"]+)"`)
	for path, most := range map[string]int{"/board": 60_000, "/app": 80_000, "/app/rooms/10": 80_000, "/app/print": 80_000} {
		sum, html := w.weight(path)
		seen := map[string]bool{}
		for _, m := range asset.FindAllStringSubmatch(html, -1) {
			if !seen[m[1]] {
				n, _ := w.weight(m[1])
				sum += n
			}
			seen[m[1]] = true
		}
		t.Logf("%s: %d bytes", path, sum)
		if sum > most || len(seen) < 4 {
			t.Errorf("%s takes %d bytes with %d files, want at most %d", path, sum, len(seen), most)
		}
		for _, m := range regexp.MustCompile(`(?:href|src|action)="([^"]*)"`).FindAllStringSubmatch(html, -1) {
			if !strings.HasPrefix(m[1], "/") && !strings.HasPrefix(m[1], "#") {
				t.Errorf("%s asks %s", path, m[1])
			}
		}
		if strings.Contains(html, "style=") || strings.Contains(html, "onclick") {
			t.Errorf("%s has a style or a script of its own, which its policy forbids", path)
		}
		for path := range seen {
			if _, script := w.weight(path); strings.HasSuffix(path, ".js") && len(script) > 6<<10 {
				t.Errorf("the script has %d bytes", len(script))
			}
		}
	}
}

func BenchmarkUnitOf40Rooms(b *testing.B) {
	w := newWard(b, rooms(40))
	w.forms = usual
	slowest(b, func() {
		if status, _ := w.page("/app", "en"); status != 200 {
			b.Fatal(status)
		}
	})
}

// slowest reports the 99th percentile of the durations of calls.
func slowest(b *testing.B, call func()) {
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		call()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

func BenchmarkBoardOf40Rooms(b *testing.B) {
	w := newWard(b, rooms(40))
	w.forms = usual
	slowest(b, func() { w.page("/board", "en") })
}

func BenchmarkUnitsOf2700(b *testing.B) {
	w := newWard(b, unit())
	w.forms = usual
	for i := range 2700 {
		id := fmt.Sprintf("h%04d", i)
		w.charts[id] = w.charts["north"]
		w.alsoIn(users.User{ID: "usr_1", Hospital: id, Role: users.Viewer})
	}
	w.page("/app/units", "en") // fills the cache
	for b.Loop() {
		w.page("/app/units", "en")
	}
}

// BenchmarkStreams lets 500 browsers follow a unit. It changes the unit each time all browsers have received the
// previous change. It measures the time from a change until the last browser has received it, and the memory that all
// streams use.
func BenchmarkStreams(b *testing.B) {
	w := newWard(b, rooms(40))
	w.live()
	server := serve(b, w)
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before := memory()
	var all []chan struct{}
	for range 500 {
		all = append(all, watchSignals(b, server, w))
	}
	for _, seen := range all {
		<-seen
	}
	grown := float64(memory()-before) / (1 << 20) // includes the memory of the browsers
	for b.Loop() {
		w.change("north", restless)
		began := time.Now()
		for _, seen := range all {
			<-seen
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "last-ms")
	}
	b.ReportMetric(grown, "MiB")
}

// watchSignals follows the unit without storing the states, to save memory. It only signals that a state has arrived.
func watchSignals(b *testing.B, server *httptest.Server, w *ward) chan struct{} {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL+"/app/events", http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Cookie", w.cookie)
	answer, err := server.Client().Do(r)
	if err != nil {
		b.Fatal(err)
	}
	seen := make(chan struct{}, 64)
	go func() {
		defer answer.Body.Close()
		lines := bufio.NewReaderSize(answer.Body, 512)
		for {
			line, err := lines.ReadSlice('\n')
			if strings.HasPrefix(string(line), "event: state") {
				seen <- struct{}{}
			}
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				return
			}
		}
	}()
	return seen
}
