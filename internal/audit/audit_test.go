package audit

import (
	"testing"
	"time"
)

func TestMatches(t *testing.T) {
	noon := time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)
	act := Act{Hospital: "north", At: noon, By: "key_1", Action: "key.mint", Subject: "key_2"}
	for name, c := range map[string]struct {
		query Query
		want  bool
	}{
		"all of the hospital":     {Query{Hospital: "north"}, true},
		"another hospital":        {Query{Hospital: "south"}, false},
		"no hospital":             {Query{}, false},
		"the action":              {Query{Hospital: "north", Action: "key.mint"}, true},
		"another action":          {Query{Hospital: "north", Action: "key.revoke"}, false},
		"all actions on keys":     {Query{Hospital: "north", Action: "key."}, true},
		"all actions on others":   {Query{Hospital: "north", Action: "rule."}, false},
		"half a word":             {Query{Hospital: "north", Action: "key"}, false},
		"since includes":          {Query{Hospital: "north", Since: noon}, true},
		"since later":             {Query{Hospital: "north", Since: noon.Add(1)}, false},
		"until excludes":          {Query{Hospital: "north", Until: noon}, false},
		"until later":             {Query{Hospital: "north", Until: noon.Add(1)}, true},
		"between, another action": {Query{Hospital: "north", Since: noon, Until: noon.Add(1), Action: "x"}, false},
	} {
		if got := c.query.Matches(&act); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
