package main

import (
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestContainerMemory(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	for name, row := range map[string]struct {
		files fstest.MapFS
		want  int64
	}{
		"none":                 {fstest.MapFS{}, 0},
		"version 2":            {fstest.MapFS{memoryFiles[0]: file("268435456\n")}, 256 << 20},
		"version 2, unlimited": {fstest.MapFS{memoryFiles[0]: file("max\n")}, 0},
		"version 1":            {fstest.MapFS{memoryFiles[1]: file("1073741824\n")}, 1 << 30},
		"version 1, unlimited": {fstest.MapFS{memoryFiles[1]: file("9223372036854771712\n")}, 0},
		"unreadable":           {fstest.MapFS{memoryFiles[0]: file("")}, 0},
	} {
		if got := containerMemory(row.files); got != row.want {
			t.Errorf("%s: %d, want %d", name, got, row.want)
		}
	}
}

func TestLimitMemoryHeedsWhoeverSetsIt(t *testing.T) {
	t.Cleanup(func() { debug.SetMemoryLimit(math.MaxInt64) })
	files := fstest.MapFS{memoryFiles[0]: {Data: []byte("1000000000\n")}}
	env := func(set bool) func(string) (string, bool) {
		return func(name string) (string, bool) { return "", set && name == "GOMEMLIMIT" }
	}
	before := debug.SetMemoryLimit(-1)
	if limitMemory(env(true), files); debug.SetMemoryLimit(-1) != before {
		t.Error("GOMEMLIMIT is overruled")
	}
	if limitMemory(env(false), files); debug.SetMemoryLimit(-1) != 900_000_000 {
		t.Errorf("the limit is %d", debug.SetMemoryLimit(-1))
	}
}
