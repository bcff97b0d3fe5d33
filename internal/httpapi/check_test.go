package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"svc/internal/httpapi/rules"
)

type checkedBody struct {
	Label  string  `json:"label" pattern:"label" maxLength:"5"`
	Change *string `json:"change,omitempty" pattern:"line" maxLength:"5"`
	checkedSettings
}

type checkedSettings struct {
	ID      string   `json:"id,omitempty" minLength:"2" maxLength:"4"`
	Role    string   `json:"role,omitempty" enum:"viewer,admin"`
	Hours   int      `json:"hours,omitempty" enum:"0,24"`
	Rate    float64  `json:"rate,omitempty" minimum:"0.1" maximum:"500"`
	Minutes *int     `json:"minutes,omitempty" minimum:"1"`
	Most    *int     `json:"most,omitempty" maximum:"9"`
	Events  []string `json:"events,omitempty" minItems:"1" enum:"ping,alert" uniqueItems:"true"`
	Rooms   []int32  `json:"rooms,omitempty" minItems:"1" maxItems:"2" minimum:"0"`
	Keys    []string `json:"keys,omitempty" maxItems:"1"`
	Secret  *string  `json:"secret,omitempty" pattern:"secret" maxLength:"1"`
}

func TestCheck(t *testing.T) {
	valid := func() checkedBody {
		return checkedBody{Label: "LDR 1", checkedSettings: checkedSettings{Rate: 0.1}}
	}
	for name, c := range map[string]struct {
		change func(*checkedBody)
		want   string
	}{
		"valid":                         {func(*checkedBody) {}, ""},
		"white space around a label":    {func(b *checkedBody) { b.Label = " \u3000LDR 1 " }, ""},
		"line break after a label":      {func(b *checkedBody) { b.Label = "LDR 1\n" }, "label line"},
		"separator around a line":       {func(b *checkedBody) { b.Change = new("\u2028L") }, "change line"},
		"characters, not bytes":         {func(b *checkedBody) { b.Label = "ééééé" }, ""},
		"missing label":                 {func(b *checkedBody) { b.Label = "" }, "label minLength:1"},
		"blank label":                   {func(b *checkedBody) { b.Label = " \t" }, "label minLength:1"},
		"long label":                    {func(b *checkedBody) { b.Label = "LDR 12" }, "label maxLength:5"},
		"label of two lines":            {func(b *checkedBody) { b.Label = "L\nD" }, "label line"},
		"empty line":                    {func(b *checkedBody) { b.Change = new("") }, ""},
		"long line":                     {func(b *checkedBody) { b.Change = new("LDR 12") }, "change maxLength:5"},
		"line of two lines":             {func(b *checkedBody) { b.Change = new("L\nD") }, "change line"},
		"short text":                    {func(b *checkedBody) { b.ID = "x" }, "id minLength:2"},
		"other word":                    {func(b *checkedBody) { b.Role = "Admin" }, "role enum:viewer|admin"},
		"other number":                  {func(b *checkedBody) { b.Hours = 12 }, "hours enum:0|24"},
		"bounds count":                  {func(b *checkedBody) { b.Rate = 500 }, ""},
		"below":                         {func(b *checkedBody) { b.Rate = 0 }, "rate range:0.1-500"},
		"above":                         {func(b *checkedBody) { b.Rate = 500.5 }, "rate range:0.1-500"},
		"below the only bound":          {func(b *checkedBody) { b.Minutes = new(0) }, "minutes min:1"},
		"above the only bound":          {func(b *checkedBody) { b.Most = new(10) }, "most max:9"},
		"empty list":                    {func(b *checkedBody) { b.Events = []string{} }, "events minItems:1"},
		"elements":                      {func(b *checkedBody) { b.Events = []string{"ping", "pong", "ping"} }, "events[1] enum:ping|alert, events[2] unique"},
		"long list":                     {func(b *checkedBody) { b.Rooms = []int32{1, -2, 3} }, "rooms items:1-2, rooms[1] min:0"},
		"list without a least":          {func(b *checkedBody) { b.Keys = []string{"a", "b"} }, "keys maxItems:1"},
		"a pattern of the handler":      {func(b *checkedBody) { b.Secret = new("secret") }, ""},
		"all faults in order of fields": {func(b *checkedBody) { b.Label, b.Role, b.Rate = "", "x", 0 }, "label minLength:1, role enum:viewer|admin, rate range:0.1-500"},
	} {
		t.Run(name, func(t *testing.T) {
			body := valid()
			c.change(&body)
			var broken []string
			for _, d := range Check(&body) {
				if _, known := rules.Explain(d.Rule); !known {
					t.Errorf("nothing explains the rule %s", d.Rule)
				}
				broken = append(broken, fmt.Sprint(d.Path, " ", d.Rule))
			}
			if got := strings.Join(broken, ", "); got != c.want {
				t.Errorf("breaks %q, want %q", got, c.want)
			}
		})
	}
}
