package metrics

import (
	"maps"
	"testing"
)

// TestFiguresOfFailuresBeginAtZero: an alert on an increase detects the first failure.
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
