package viewtest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"svc/internal/view"
)

// with returns u with the given records as its local settings. A record is "name=value", or "name" for a deleted
// setting.
func with(u view.Unit, records ...string) view.Unit {
	u.LocalSettings = map[string][]byte{}
	for _, r := range records {
		name, value, there := strings.Cut(r, "=")
		u.LocalSettings[name] = nil
		if there {
			u.LocalSettings[name] = []byte(value)
		}
	}
	return u
}

func (v *fixture) lists(t *testing.T, hospital string, codes bool, want string) {
	t.Helper()
	all, token, err := v.LocalSettings(t.Context(), hospital, codes)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, name+"="+all[name])
	}
	got := fmt.Sprintf("%s %d: %s", token.Generation, token.Version, strings.Join(parts, " "))
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("%s: %q, want %q", hospital, got, want)
	}
}

func testLocalSettings(t *testing.T, s Server) {
	v := start(t, s.URL, "g1")
	if _, _, err := v.LocalSettings(t.Context(), "north", true); !errors.Is(err, view.ErrNotWhole) {
		t.Errorf("%v before the first projection", err)
	}
	v.whole(1, with(unit("north", 5, 1), "mapping/a=1", "code/x=1"), unit("south", 1))
	v.settle(t, 1)
	v.lists(t, "north", false, "g1 5: mapping/a=1")
	v.lists(t, "north", true, "g1 5: code/x=1 mapping/a=1")
	v.lists(t, "south", true, "g1 1: ")
	v.lists(t, "nowhere", true, view.ErrNoUnit.Error())
	v.change(2, with(unit("north", 6, 2), "mapping/b=1", "code/y=1"))
	v.change(3, with(unit("north", 7), "mapping/a", "code/x=2"))
	v.settle(t, 3)
	v.lists(t, "north", true, "g1 7: code/x=2 code/y=1 mapping/b=1")
	v.expect(t, "north", "g1 3: north at 7; room 1 at 5, room 2 at 6")
	v.whole(4, with(unit("north", 8), "rule/r=1"))
	v.settle(t, 4)
	v.lists(t, "north", true, "g1 8: rule/r=1")
	next := start(t, s.URL, "g2")
	next.whole(0, unit("south", 1))
	until(t, func() bool {
		_, token, err := v.LocalSettings(t.Context(), "south", true)
		return err == nil && token.Generation == "g2"
	})
	v.lists(t, "north", true, view.ErrNoUnit.Error())
	v.lists(t, "south", true, "g2 1: ")
}
