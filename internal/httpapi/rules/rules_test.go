package rules

import "testing"

// TestBoundsAreFilled: the explanation of a rule contains the rule's limit.
func TestBoundsAreFilled(t *testing.T) {
	for rule, want := range map[string]string{
		"maxLength:100":   "Use at most 100 characters.",
		"range:1-899999":  "Use a number in the range 1–899999.",
		"enum:true|false": "Use one of true, false, with this capitalization.",
		"required":        "This field is required and must not be null.",
	} {
		got, ok := Explain(rule)
		if !ok || got.About != want {
			t.Errorf("%s: %q, want %q", rule, got.About, want)
		}
	}
	if _, ok := Explain("no_such_rule"); ok {
		t.Error("an unknown rule is explained")
	}
}
