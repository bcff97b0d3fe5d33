package metrics

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestFiguresOfFailuresBeginAtZero: the counters of failures exist with the value 0 before the first failure, so that
// an alert on an increase detects the first failure.
func TestFiguresOfFailuresBeginAtZero(t *testing.T) {
	m := New("unknown")
	m.Notifier()
	families, err := m.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]bool{}
	for _, family := range families {
		for _, one := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range one.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if one.GetCounter().GetValue() == 0 {
				series[family.GetName()+" "+labels["channel"]+" "+labels["state"]+labels["class"]] = true
			}
		}
	}
	for _, channel := range []string{"email", "sms"} {
		for _, want := range []string{
			"svc_notify_deliveries_total " + channel + " expired", "svc_notify_deliveries_total " + channel + " failed",
			"svc_notify_deliveries_total " + channel + " rejected", "svc_notify_deliveries_total " + channel + " poison",
			"svc_notify_attempts_total " + channel + " sealed",
		} {
			if !series[want] {
				t.Errorf("no %s in %v", want, maps.Collect(maps.All(series)))
			}
		}
	}
}

// TestExemplars: after exemplars are enabled, a scrape that accepts OpenMetrics gets the trace ids as exemplars.
// Before that, the same scrape gets the plain text format without trace ids.
func TestExemplars(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	m := New("unknown")
	add := m.TracedDurations("svc_test_seconds", "Test.", time.Millisecond, time.Second)
	add(time.Millisecond, "")
	add(time.Second/2, id)
	scrape := func() (contentType, text string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, r)
		return w.Header().Get("Content-Type"), w.Body.String()
	}
	if format, text := scrape(); !strings.HasPrefix(format, "text/plain") || strings.Contains(text, id) {
		t.Errorf("without traces: %s", format)
	}
	m.Exemplars()
	if format, text := scrape(); !strings.HasPrefix(format, "application/openmetrics-text") || strings.Count(text, `# {trace_id="`+id+`"} 0.5`) != 1 {
		t.Errorf("with traces: %s\n%s", format, text)
	}
	if got := testing.AllocsPerRun(100, func() { add(time.Millisecond, "") }); got != 0 {
		t.Errorf("%v allocations without a trace", got)
	}
}
