package verify_test

import (
	"slices"
	"testing"

	"svc/acuity"
	"svc/internal/analysis/verify"
)

// A change that release 0.1.0 wrote may lack a warning that this release would give. It must not lack any other.
func TestWarningsAsRecorded(t *testing.T) {
	later, first := acuity.Warning{Code: "after_birth", Path: "signals[0]"}, acuity.Warning{Code: "time_in_future"}
	unread, alsoUnread := acuity.Warning{Code: "value_unreadable", Path: "signals[0]"}, acuity.Warning{Code: "value_unreadable", Path: "signals[2]"}
	for name, c := range map[string]struct{ computed, recorded, want []acuity.Warning }{
		"of 0.1.0":       {[]acuity.Warning{first, later}, []acuity.Warning{first}, []acuity.Warning{first}},
		"of this one":    {[]acuity.Warning{first, later}, []acuity.Warning{first, later}, []acuity.Warning{first, later}},
		"another is due": {[]acuity.Warning{first, later}, nil, []acuity.Warning{first}},
		"without places": {[]acuity.Warning{unread, first, alsoUnread}, []acuity.Warning{{Code: "value_unreadable"}, first}, []acuity.Warning{{Code: "value_unreadable"}, first}},
		"at its place":   {[]acuity.Warning{unread, alsoUnread}, []acuity.Warning{alsoUnread}, []acuity.Warning{unread, alsoUnread}},
		"unchanged":      {[]acuity.Warning{{Code: "unchanged"}}, nil, nil},
		"at two places":  {[]acuity.Warning{later}, []acuity.Warning{{Code: "after_birth", Path: "signals[1]"}}, nil},
	} {
		if got := verify.WarningsAsRecorded(c.computed, c.recorded); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		preview := verify.PreviewAsRecorded(&acuity.Preview{Warnings: c.computed, Reason: "kept"}, &acuity.Preview{Warnings: c.recorded})
		if !slices.Equal(preview.Warnings, c.want) || preview.Reason != "kept" {
			t.Errorf("%s: preview %+v, want %v", name, preview, c.want)
		}
	}
}
