package logfiles

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Damage to one entry in the log of committed offsets does not affect the other entries. If the log is cut off, only
// the incomplete last entry is lost.
func TestPositions(t *testing.T) {
	dir := lived(t)
	raw, err := os.ReadFile(filepath.Join(dir, groupsFile))
	if err != nil {
		t.Fatal(err)
	}
	if sound, lost := entries(raw); lost != 0 || !bytes.Equal(sound, raw) {
		t.Fatal("what the broker wrote is not understood")
	}
	for at := 0; at < len(raw); at += 11 {
		damaged := bytes.Clone(raw)
		damaged[at] ^= 0x15
		sound, lost := entries(damaged)
		if lost != 1 || len(sound) < len(raw)-300 || len(sound) >= len(raw) {
			t.Fatalf("byte %d: %d places, %d of %d bytes stand", at, lost, len(sound), len(raw))
		}
		if again, lost := entries(sound); lost != 0 || !bytes.Equal(again, sound) {
			t.Fatalf("byte %d: what stands is not sound", at)
		}
	}
	for end := range raw {
		if sound, _ := entries(raw[:end]); !bytes.HasPrefix(raw, sound) || end-len(sound) > 300 {
			t.Fatalf("cut at %d: %d bytes stand", end, len(sound))
		}
	}
}

// The list of topics is restored from the sealed copy. Without an intact copy, the list is used as it is if it can be
// read.
func TestTopicList(t *testing.T) {
	for name, row := range map[string]struct {
		list, seal func([]byte) []byte
		restored   bool // whether the list is restored; if not, it is used as it is
		refused    bool
	}{
		"sound":                  {nil, nil, false, false},
		"digit of the retention": {func(b []byte) []byte { return bytes.Replace(b, []byte(`"-1"`), []byte(`"11"`), 1) }, nil, true, false},
		"another order":          {reversedTopics, nil, false, false},
		"gone":                   {func([]byte) []byte { return nil }, nil, true, false},
		"seal damaged":           {nil, func(b []byte) []byte { b[20]++; return b }, false, false},
		"unreadable, no seal":    {func(b []byte) []byte { return b[1:] }, func([]byte) []byte { return nil }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := lived(t)
			was := files(t, dir)[topicsFile]
			for file, change := range map[string]func([]byte) []byte{topicsFile: row.list, sealedFile: row.seal} {
				if change != nil {
					edit(t, dir, file, change)
				}
			}
			is := files(t, dir)[topicsFile]
			err := Mend(options(dir))
			damage, found := errors.AsType[*DamageError](err)
			if found != row.refused || found && damage.File != filepath.Join(dir, topicsFile) || !found && err != nil {
				t.Fatal(err)
			}
			if row.restored {
				is = was
			}
			if now := files(t, dir)[topicsFile]; now != is {
				t.Errorf("the list is %q, want %q", now, is)
			}
		})
	}
}

// reversedTopics returns a list with its topics in the reverse order, as the broker may write it.
func reversedTopics(list []byte) []byte {
	var all struct {
		Version int               `json:"version"`
		Topics  []json.RawMessage `json:"topics"`
	}
	if err := json.Unmarshal(list, &all); err != nil || len(all.Topics) < 2 {
		panic(fmt.Sprint(err, len(all.Topics)))
	}
	slices.Reverse(all.Topics)
	list, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return list
}
