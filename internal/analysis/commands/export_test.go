package commands

import (
	"slices"
	"testing"

	"svc/internal/analysis/replay"
)

func TestUnheard(t *testing.T) {
	of := func(hospitals ...string) *replay.Manifest {
		m := &replay.Manifest{}
		for _, h := range hospitals {
			m.Counts.Rows++
			m.Files = append(m.Files, replay.File{Hospital: h})
		}
		return m
	}
	streamed := &replay.Manifest{Counts: replay.Counts{Rows: 3}}
	for name, c := range map[string]struct {
		made  *replay.Manifest
		named []string
		want  []string
	}{
		"all named":            {of("north"), nil, nil},
		"each has something":   {of("north", "south", "north"), []string{"south", "north"}, nil},
		"one has nothing":      {of("north"), []string{"north", "typo"}, []string{"typo"}},
		"nothing at all":       {of(), []string{"typo"}, []string{"typo"}},
		"to standard output":   {streamed, []string{"north", "typo"}, nil},
		"nothing goes there":   {&replay.Manifest{}, []string{"typo"}, []string{"typo"}},
		"a name within a name": {of("north-2"), []string{"north"}, []string{"north"}},
	} {
		if got := hospitalsWithoutRows(c.made, c.named); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
