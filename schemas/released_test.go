package schemas

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamba/avro/v2"
)

// releasedList is a file with the digest, file name and id of every version that was ever released, one version in
// each line. The flag -update only adds lines. Lines must be changed or removed by hand.
const releasedList = "released.txt"

// TestReleased compares the table of versions with the schema files and with the released list. Every schema file
// must be in the table, and every version in the list must have the same id and be identical, byte for byte, to the
// file that was released.
func TestReleased(t *testing.T) {
	ids := map[SchemaID]bool{}
	known := map[string]bool{}
	var now []string
	for _, s := range Released() {
		parsedSchema(t, &s)
		if ids[s.ID] || s.ID <= 0 {
			t.Errorf("the id %d of avsc/%s is none, or is used twice", s.ID, fileName(s, "avsc"))
		}
		ids[s.ID] = true
		known[fileName(s, "avsc")] = true
		text, err := s.Text()
		if err != nil {
			t.Fatal(err)
		}
		now = append(now, fmt.Sprintf("%x  avsc/%s %d", sha256.Sum256(text), fileName(s, "avsc"), s.ID))
	}
	before := strings.Split(strings.TrimSuffix(goldenText(t, releasedList), "\n"), "\n")
	added, faults := notReleased(before, now)
	for _, fault := range faults {
		t.Error(fault)
	}
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", releasedList), []byte(strings.Join(append(before, added...), "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if len(added) > 0 {
		t.Errorf("new versions, which -update adds to testdata/%s:\n%s", releasedList, strings.Join(added, "\n"))
	}
	entries, err := files.ReadDir("avsc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !known[entry.Name()] {
			t.Errorf("avsc/%s is not in the table of released versions", entry.Name())
		}
	}
}

// notReleased returns the lines for files that have not been released yet. It also reports each released file that is
// missing, was edited, or has a different id.
func notReleased(before, now []string) (added, faults []string) {
	current := map[string]string{}
	for _, line := range now {
		current[strings.Fields(line)[1]] = line
	}
	for _, line := range before {
		file := strings.Fields(line)[1]
		switch current[file] {
		case line:
		case "":
			faults = append(faults, file+" was released and is missing: the log holds its records")
		default:
			faults = append(faults, file+" was released and is edited, or has another id: make it the next version of its record")
		}
		delete(current, file)
	}
	for _, line := range now {
		if current[strings.Fields(line)[1]] != "" {
			added = append(added, line)
		}
	}
	return added, faults
}

func TestNotReleased(t *testing.T) {
	before := []string{"aa  avsc/key.v1.avsc 101", "bb  avsc/key.v2.avsc 102"}
	for name, tt := range map[string]struct {
		now           []string
		added, faults int
	}{
		"the same":      {before, 0, 0},
		"one more":      {append([]string{"cc  avsc/key.v3.avsc 103"}, before...), 1, 0},
		"edited":        {[]string{before[0], "cc  avsc/key.v2.avsc 102"}, 0, 1},
		"of another id": {[]string{before[0], "bb  avsc/key.v2.avsc 103"}, 0, 1},
		"missing":       {before[1:], 0, 1},
		"renamed":       {[]string{before[0], "bb  avsc/keys.v2.avsc 102"}, 1, 1},
	} {
		if added, faults := notReleased(before, tt.now); len(added) != tt.added || len(faults) != tt.faults {
			t.Errorf("%s: added %q, faults %q", name, added, faults)
		}
	}
}

// backward checks the compatibility mode BACKWARD: a reader with the newer schema can decode bytes that were written
// with the older one.
func backward(newer, older avro.Schema) error {
	return avro.NewSchemaCompatibility().Compatible(newer, older)
}

// TestBackward checks for each kind of change whether a new version may make it.
func TestBackward(t *testing.T) {
	const sample = `{"type":"record","name":"Sample","namespace":"svc","fields":[
		{"name":"id","type":"string"},
		{"name":"count","type":"int"},
		{"name":"level","type":{"type":"enum","name":"Level","symbols":["GREEN","RED"]}},
		{"name":"again","type":"Level"},
		{"name":"sum","type":{"type":"fixed","name":"Sha","size":2}},
		{"name":"items","type":{"type":"array","items":{"type":"record","name":"Item","fields":[{"name":"code","type":"string"}]}}},
		{"name":"maybe","type":["null","Item"]}
	]}`
	for name, tt := range map[string]struct {
		old, replacement string
		readable         bool
	}{
		"nothing":                              {`"id"`, `"id"`, true},
		"field added with a default":           {`{"name":"count"`, `{"name":"more","type":"string","default":""},{"name":"count"`, true},
		"field added without a default":        {`{"name":"count"`, `{"name":"more","type":"string"},{"name":"count"`, false},
		"field dropped":                        {`{"name":"count","type":"int"},`, ``, true},
		"field renamed":                        {`"name":"count"`, `"name":"number"`, false},
		"int widened":                          {`"type":"int"`, `"type":"long"`, true},
		"type changed":                         {`"type":"int"`, `"type":"string"`, false},
		"symbol added":                         {`["GREEN","RED"]`, `["GREEN","RED","BLACK"]`, true},
		"symbol dropped":                       {`["GREEN","RED"]`, `["GREEN"]`, false},
		"symbol renamed":                       {`["GREEN","RED"]`, `["GREEN","BLACK"]`, false},
		"fixed of another size":                {`"size":2`, `"size":3`, false},
		"inner field added with a default":     {`[{"name":"code","type":"string"}]`, `[{"name":"code","type":"string"},{"name":"on","type":"boolean","default":false}]`, true},
		"inner field added without a default":  {`[{"name":"code","type":"string"}]`, `[{"name":"code","type":"string"},{"name":"on","type":"boolean"}]`, false},
		"inner type changed":                   {`[{"name":"code","type":"string"}]`, `[{"name":"code","type":"long"}]`, false},
		"what was there may be missing":        {`"type":"int"`, `"type":["null","int"]`, true},
		"what could be missing may not":        {`["null","Item"]`, `"Item"`, false},
		"record renamed":                       {`"name":"Item"`, `"name":"Thing"`, false},
		"outer record renamed":                 {`"name":"Sample"`, `"name":"Example"`, false},
		"list made of what was no list":        {`"type":"int"`, `"type":{"type":"array","items":"int"}`, false},
		"field of an instant, which is a long": {`"type":"int"`, `"type":{"type":"long","logicalType":"timestamp-millis"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Count(sample, tt.old) != 1 && tt.old != `"id"` {
				t.Fatalf("%s stands there %d times", tt.old, strings.Count(sample, tt.old))
			}
			text := strings.Replace(sample, tt.old, tt.replacement, 1)
			text = strings.ReplaceAll(text, `"Item"]`, map[bool]string{true: `"Thing"]`, false: `"Item"]`}[name == "record renamed"])
			older, err := avro.ParseBytesWithCache([]byte(sample), "", &avro.SchemaCache{})
			if err != nil {
				t.Fatal(err)
			}
			newer, err := avro.ParseBytesWithCache([]byte(text), "", &avro.SchemaCache{})
			if err != nil {
				t.Fatal(err)
			}
			if err := backward(newer, older); (err == nil) != tt.readable {
				t.Errorf("readable %t, want %t: %v", err == nil, tt.readable, err)
			}
		})
	}
}
