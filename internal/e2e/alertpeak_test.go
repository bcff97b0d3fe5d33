package e2e

import (
	"encoding/json"
	"net/http/httptest"
	"testing"
	"time"
)

// TestAlertPeak: a surge.alert event contains the peak of the staffing forecast.
func TestAlertPeak(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	dir := t.TempDir()
	dev := startDev(t, dir, "--ephemeral")
	p := newPartner(dev.BaseURL, dev.HospitalID, dev.APIKey)
	d := &desk{t: t, p: p, args: []string{"--data", dir}}
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	defer r.Close()
	p.accepted(t, "staffing", `{"nursesOnDuty":200,"callStaffAvailable":true}`) // so many nurses keep the unit green
	p.sendEvents(t, simulatedEvents(t, 1, 3))
	p.predicted(t, time.Minute)
	d.say("webhooks", "add", r.URL, "--events", "surge.alert")
	d.onDuty("dev")
	d.surge()

	var alert struct {
		Data struct {
			OpenRooms *int
			Peak      *struct {
				At        time.Time
				NursesP90 float64
			}
		}
	}
	body := r.await(t, "surge.alert", 1).body
	f, _ := p.predicted(t, time.Second)
	if err := json.Unmarshal([]byte(body), &alert); err != nil || alert.Data.OpenRooms == nil || alert.Data.Peak == nil {
		t.Fatalf("no peak: %v %s", err, body)
	}
	// The alert's peak must equal the forecast's peak, unless the forecast no longer contains the hour of the alert's
	// peak. It may lack that hour because the forecast can be based on a state that is up to a minute newer than the
	// state of the alert.
	got, want := alert.Data.Peak, f.StaffingForecast.Peak
	for _, h := range f.StaffingForecast.Hours {
		if h.End.Equal(got.At) && (!got.At.Equal(want.At) || got.NursesP90 != want.NursesP90) {
			t.Errorf("alerted %+v, predicted %+v", got, want)
		}
	}
	if ahead := got.At.Sub(f.Current.AsOf); ahead < 0 || ahead > 9*time.Hour || got.NursesP90 <= 0 {
		t.Errorf("alerted %+v, predicted %+v", got, want)
	}
}
