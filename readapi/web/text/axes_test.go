package text

import (
	"testing"

	"svc/acuity"
)

// TestAxesHaveOneName: the pages and the API use the same name for each axis, and the same name for its problem.
func TestAxesHaveOneName(t *testing.T) {
	page := In("en")
	for a := range acuity.Axis(acuity.AxisCount) {
		if got := page.T("axis." + a.String()); got != a.Label() {
			t.Errorf("%s is %q on the pages, %q in the API", a, got, a.Label())
		}
		if got := page.T("why." + a.String()); got != a.Problem() {
			t.Errorf("the problem of %s is %q on the pages, %q in the API", a, got, a.Problem())
		}
		if a.Label() == a.Problem() {
			t.Errorf("%s: the name %q suggests a problem, or the problem does not", a, a.Label())
		}
	}
}
