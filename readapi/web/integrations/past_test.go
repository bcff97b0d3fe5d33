package integrations

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/acuity/catalogue"
)

// TestTrialGoesOn: while a trial on recorded data runs, the page shows the progress and refreshes itself. If the
// trial has no result, the page says why and does not refresh itself.
func TestTrialGoesOn(t *testing.T) {
	t.Parallel()
	for fault, want := range map[PastFault]string{"": "Comparing: 25%", PastNothing: "no complete hour of recorded data", PastGone: "have been deleted", PastAway: "temporarily unavailable"} {
		a, cookie := local(t)
		a.config.Administration.Past = trying{PastResult{Done: 1, Total: 4, Fault: fault}}
		a.mount()
		got := a.Ask("GET", "/app/integrations/rules/high-mag/past?l.floor=1", cookie)
		if !strings.Contains(got.Body.String(), want) || strings.Contains(got.Body.String(), `<meta http-equiv="refresh" content="2">`) != (fault == "") {
			t.Errorf("%q: %s", fault, got.Body)
		}
	}
	a, cookie := local(t)
	if got := a.Ask("GET", "/app/integrations/rules/high-mag/past?l.floor=much", cookie); got.Code != http.StatusSeeOther {
		t.Errorf("a value that is none: %d", got.Code)
	}
}

type trying struct{ PastResult }

func (t trying) Try(context.Context, string, catalogue.Rule) PastResult { return t.PastResult }

// TestTrialSaysItsSpan: a trial that finds no difference shows which hours it compared.
func TestTrialSaysItsSpan(t *testing.T) {
	t.Parallel()
	a, cookie := local(t)
	until := time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)
	a.config.Administration.Past = trying{PastResult{Ready: true, Since: until.Add(-30 * time.Hour), Until: until}}
	a.mount()
	got := a.Ask("GET", "/app/integrations/rules/high-mag/past?l.floor=1", cookie)
	if body := got.Body.String(); !strings.Contains(body, "No difference from Apr\u00a04\u00a006:00 to Apr\u00a05\u00a012:00 (30 h of recorded levels).") {
		t.Error(body)
	}
}
