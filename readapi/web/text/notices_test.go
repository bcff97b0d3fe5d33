package text

import (
	"testing"

	"svc/internal/httpapi/rules"
)

// TestNoticesInTheLanguageOfThePage: a feed's warnings and refusals, including those for broken rules, are explained
// in the language of the page.
func TestNoticesInTheLanguageOfThePage(t *testing.T) {
	codes := []string{"413", "maxLength:100", "required"}
	for i := range rules.Warnings {
		codes = append(codes, rules.Warnings[i].Code)
	}
	for _, code := range codes {
		english, spanish := In("en").ExplainNotice(code), In("es").ExplainNotice(code)
		if english == "" || english != rules.Message(code) || spanish == "" || spanish == english {
			t.Errorf("%s: %q, %q", code, english, spanish)
		}
	}
	if got := In("es").ExplainNotice("of_a_later_release"); got != "" {
		t.Errorf("an unknown code: %q", got)
	}
}
