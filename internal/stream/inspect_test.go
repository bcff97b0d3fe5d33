package stream

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
)

func TestDeniedRights(t *testing.T) {
	for name, tt := range map[string]struct {
		operations int32
		want       []string
	}{
		"all":              {1<<3 | 1<<4 | 1<<8 | 1<<10, nil},
		"not reported":     {math.MinInt32, nil},
		"reading alone":    {1<<3 | 1<<8, []string{"Write", "DescribeConfigs"}},
		"none that counts": {1 << 7, []string{"Read", "Write", "Describe", "DescribeConfigs"}},
	} {
		if got := deniedOn(tt.operations); !slices.Equal(got, tt.want) {
			t.Errorf("%s: denied %v, want %v", name, got, tt.want)
		}
	}
}

// TestInspectChangesNothing: missing topics are reported, but not created.
func TestInspectChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		for range 2 {
			found, err := Inspect(t.Context(), r.cluster, []string{"group"}, Topic{Name: inTopic, Partitions: 99}, Topic{Name: "other", Partitions: 1})
			if err != nil || !slices.Equal(found.Missing, []string{"other"}) || len(found.Misfits) != 1 || len(found.Denied) != 0 {
				t.Errorf("%+v, %v", found, err)
			}
		}
	})
}
