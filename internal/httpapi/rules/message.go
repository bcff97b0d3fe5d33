package rules

var warnings = func() map[string]*Warning {
	byCode := make(map[string]*Warning, len(Warnings))
	for i := range Warnings {
		byCode[Warnings[i].Code] = &Warnings[i]
	}
	return byCode
}()

// ExplainWarning returns the warning with the given code, and reports whether there is such a warning.
func ExplainWarning(code string) (Warning, bool) {
	w := warnings[code]
	if w == nil {
		return Warning{}, false
	}
	return *w, true
}

// IsRoutine reports whether the code is that of a warning that a hospital-wide feed causes all day, because most of
// the feed's messages do not concern this unit.
func IsRoutine(code string) bool { return code == "event_ignored" || code == "outside_unit" }

// statuses are the messages for a body that was refused without a code, by HTTP status.
var statuses = map[string]string{
	"400": "The body is malformed; send it in the format that the endpoint documents.",
	"413": "The body is too large; send it in parts.",
	"415": "The endpoint does not accept this Content-Type; send one that it documents.",
	"422": "The body is well formed but cannot be applied; see the response to the request.",
}

// Message returns the message for the code of a warning or refusal, for a broken rule, or for the status with which a
// body was refused. It returns "" for any other code.
func Message(code string) string {
	if w, ok := ExplainWarning(code); ok {
		return w.Message
	}
	if text, ok := statuses[code]; ok {
		return text
	}
	rule, _ := Explain(code)
	return rule.About
}
