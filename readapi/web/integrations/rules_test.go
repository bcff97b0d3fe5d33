package integrations

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// TestRulesInWords: the pages of rules show each value under a label in words, in both languages, and offer only the
// values that the kind of factor can have.
func TestRulesInWords(t *testing.T) {
	t.Parallel()
	a, cookie := local(t)
	for id, lacks := range map[string]string{"high-mag": "demand", "labor-standard": "floor", "high-preeclampsia": "boarder"} {
		for _, language := range []string{"en", "es"} {
			r := httptest.NewRequest("GET", "/app/integrations/rules/"+id, nil)
			r.AddCookie(cookie)
			r.Header.Set("Accept-Language", language)
			w := httptest.NewRecorder()
			a.Router.ServeHTTP(w, r)
			html := w.Body.String()
			labels := regexp.MustCompile(`<label for="f-l\.([a-z.-]+)">([^<]*)</label>`).FindAllStringSubmatch(html, -1)
			if len(labels) < 6 {
				t.Errorf("%s in %s: only %d labels", id, language, len(labels))
			}
			for _, m := range labels {
				if m[1] == m[2] || strings.Contains(m[2], "[") || !strings.Contains(html, `<code translate="no">`+m[1]+`</code>, `) {
					t.Errorf("%s in %s: the label of %s is %q", id, language, m[1], m[2])
				}
				if m[1] == lacks {
					t.Errorf("%s offers %s", id, lacks)
				}
			}
		}
	}
}
