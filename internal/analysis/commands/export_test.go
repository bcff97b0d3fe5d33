package commands

import (
	"slices"
	"testing"

	"svc/internal/analysis/archive"
)

func TestUnheard(t *testing.T) {
	of := func(hospitals ...string) *archive.Manifest {
		m := &archive.Manifest{}
		for _, h := range hospitals {
			m.Counts.Rows++
			m.Files = append(m.Files, archive.File{Hospital: h})
		}
		return m
	}
	streamed := &archive.Manifest{Counts: archive.Counts{Rows: 3}}
	for name, c := range map[string]struct {
		made  *archive.Manifest
		named []string
		want  []string
	}{
		"all named":            {of("north"), nil, nil},
		"each has something":   {of("north", "south", "north"), []string{"south", "north"}, nil},
		"one has nothing":      {of("north"), []string{"north", "typo"}, []string{"typo"}},
		"nothing at all":       {of(), []string{"typo"}, []string{"typo"}},
		"to standard output":   {streamed, []string{"north", "typo"}, nil},
		"nothing goes there":   {&archive.Manifest{}, []string{"typo"}, []string{"typo"}},
		"a name within a name": {of("north-2"), []string{"north"}, []string{"north"}},
	} {
		if got := hospitalsWithoutRows(c.made, c.named); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
