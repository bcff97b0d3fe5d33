package integrations

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"svc/acuity/catalogue"
)

// TestTrialGoesOn: during a trial on the past the page shows the progress, and looks again.
func TestTrialGoesOn(t *testing.T) {
	t.Parallel()
	for fault, want := range map[PastFault]string{"": "Replaying: 25 percent", PastNothing: "Nothing is recorded", PastGone: "is deleted", PastAway: "cannot be read"} {
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
