package commands

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc/internal/cli"
	"svc/internal/httpapi/access"
	"svc/internal/stream"
)

// say runs a command with an empty environment and returns its output.
func say(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, faults bytes.Buffer
	w := cli.Env{LookupEnv: func(string) (string, bool) { return "", false }, Stdout: &out, Stderr: &faults, Now: time.Now}
	root := cli.Root("svc", "", "")
	root.AddCommand(HospitalsCommand(w), KeysCommand(w))
	code = cli.Run(t.Context(), root, args, w)
	return code, out.String(), faults.String()
}

// hospitalsFile writes a file with hospitals that have two keys each.
func hospitalsFile(t *testing.T, rows ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hospitals.csv")
	if err := os.WriteFile(path, []byte("id,name,timezone,keys\n"+strings.Join(rows, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func manyHospitals(n int) (rows []string) {
	for i := range n {
		rows = append(rows, fmt.Sprintf(`h-%04d,"Hospital, %d",America/Chicago,ADT;Board`, i, i))
	}
	return rows
}

// TestImportHospitals: one import creates hundreds of hospitals and shows each new key once. Importing the same file
// again creates nothing. If lines or keys are added to the file, the next import creates only those.
func TestImportHospitals(t *testing.T) {
	broker, err := stream.Embed(stream.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	kafka := []string{"--kafka", broker.Addr(), "--topic-prefix", "p-"}
	do := func(args ...string) (string, string) {
		t.Helper()
		code, stdout, stderr := say(t, append(args, kafka...)...)
		if code != 0 {
			t.Fatalf("%v: code %d, says %q", args, code, stderr)
		}
		return stdout, stderr
	}
	const many = 250
	rows := manyHospitals(many)
	if counted, _ := do("hospitals", "import", hospitalsFile(t, rows...), "--scopes", "all", "--dry-run"); counted != "hospitals to create: 250, already existing: 0; keys to create: 500\n" {
		t.Errorf("a dry run says %q", counted)
	}
	if all, _ := do("hospitals", "list"); strings.Contains(all, "h-0001") {
		t.Error("a dry run has created a hospital")
	}
	printed, said := do("hospitals", "import", hospitalsFile(t, rows...), "--scopes", "ingest:hl7,read:status", "--rate", "7")
	lines, err := csv.NewReader(strings.NewReader(printed)).ReadAll()
	if err != nil || len(lines) != 1+2*many || strings.Join(lines[0], ",") != "hospital,name,id,key" || !strings.Contains(said, "hospitals created: 250, already existing: 0; keys created: 500") {
		t.Fatalf("%v: %d lines, says %q", err, len(lines), said)
	}
	tokens := map[string]bool{}
	for _, l := range lines[1:] {
		if !strings.HasPrefix(l[3], "svc_") || tokens[l[3]] {
			t.Fatalf("no key, or one twice: %q", l[0])
		}
		tokens[l[3]] = true
	}
	listed, _ := do("keys", "list", "--hospital", "h-0249", "--json")
	var keys struct{ Items []keyRow }
	if err := json.Unmarshal([]byte(listed), &keys); err != nil || len(keys.Items) != 2 || keys.Items[0].Rate != 7 || strings.Join(keys.Items[1].Scopes, ",") != "ingest:hl7,read:status" {
		t.Errorf("%v: %+v", err, keys)
	}
	if all, _ := do("hospitals", "list"); strings.Count(all, "America/Chicago") != many {
		t.Errorf("%d are listed", strings.Count(all, "America/Chicago"))
	}

	printed, said = do("hospitals", "import", hospitalsFile(t, rows...), "--scopes", "all")
	if strings.Count(printed, "\n") != 1 || !strings.Contains(said, "hospitals created: 0, already existing: 250; keys created: 0") {
		t.Errorf("the second time: %q, %q", printed, said)
	}
	rows[7] += ";Lab"
	printed, _ = do("hospitals", "import", hospitalsFile(t, append(rows, "new,New,UTC,")...), "--scopes", "read:status", "--json")
	var made struct {
		Hospitals, There int
		Items            []madeKey
	}
	if err := json.Unmarshal([]byte(printed), &made); err != nil || made.Hospitals != 1 || made.There != many || len(made.Items) != 1 || made.Items[0].Name != "Lab" || made.Items[0].Hospital != "h-0007" {
		t.Errorf("%v: %+v", err, made)
	}

	// If a hospital already exists with a different name or time zone, the whole file is refused, because the import
	// cannot decide which value is right.
	code, stdout, stderr := say(t, append([]string{"hospitals", "import", hospitalsFile(t, "other,Other,UTC,", "h-0001,Another,UTC,"), "--scopes", "all"}, kafka...)...)
	if code != 1 || stdout != "" || !strings.Contains(stderr, "line 3: name:") || !strings.Contains(stderr, "line 3: timezone:") || !strings.Contains(stderr, "nothing was imported; errors: 2") {
		t.Errorf("code %d, says %q, %q", code, stdout, stderr)
	}
	if all, _ := do("hospitals", "list"); strings.Contains(all, "other") {
		t.Error("a file with a fault has made a hospital")
	}
}

// TestImportHospitalsJSON: a JSON Lines file is imported like a CSV file, and its errors name the line and the rule but
// never quote a value.
func TestImportHospitalsJSON(t *testing.T) {
	rows, faults, err := readHospitals(strings.NewReader("\ufeff\n" +
		`{"id":"a","name":"A; \"one\"","timezone":"UTC","keys":["ADT; lab","Board"]}` + "\r\n\n" +
		`{"id":"b","name":"B","timezone":"America/Chicago"}`))
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	want := []importedHospital{
		{Hospital: access.Hospital{ID: "a", Name: `A; "one"`, Zone: "UTC"}, keys: []string{"ADT; lab", "Board"}, line: 2},
		{Hospital: access.Hospital{ID: "b", Name: "B", Zone: "America/Chicago"}, line: 4},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("%+v", rows)
	}
	const secret = "Secret"
	for text, want := range map[string]string{
		`{"id":"Secret A","name":"A","timezone":"UTC"}`:                      "line 1: id: must be",
		`{"id":"a","name":"","timezone":"Secret"}`:                           "line 1: name: must be 1 to 100 characters, without control characters\nline 1: timezone: must be",
		`{"id":"a","name":"A","timezone":"UTC","Secret":1}`:                  "line 1: json: must be an object",
		`{"id":"a","name":"A","timezone":"UTC"} Secret`:                      "line 1: json: must be an object",
		`{"id":5,"name":"Secret","timezone":"UTC"}`:                          "line 1: json: must be an object",
		"{\"id\":\"a\",\n\"name\":\"Secret\"}":                               "line 1: json: must be an object",
		`{"id":"a","name":"A","timezone":"UTC","keys":["K",""]}`:             "line 1: keys: each name must have 1 to 100 characters",
		`{"id":"a","name":"\u202eSecret","timezone":"UTC"}`:                  "line 1: name: must be 1 to 100 characters, without control",
		`{"id":"a","name":"A","timezone":"UTC","keys":["Secret\u2028K"]}`:    "line 1: keys: each name must have 1 to 100 characters, without control",
		"{" + strings.Repeat(" ", importLine) + "}":                          "line 1: json: must be at most 1048575 bytes",
		"{\"id\":\"a\",\"name\":\"A\",\"timezone\":\"UTC\"}\n[\"Secret\"]\n": "line 2: json: must be an object",
	} {
		_, faults, err := readHospitals(strings.NewReader(text))
		got := strings.Join(faults, "\n")
		if err != nil || !strings.HasPrefix(got, want) || strings.Contains(got, secret) {
			t.Errorf("%.60s: %v, says %q, want %q", text, err, got, want)
		}
	}
}

// TestImportHospitalsFaults: each error names the line and the rule, without a value.
func TestImportHospitalsFaults(t *testing.T) {
	rows, faults, err := readHospitals(strings.NewReader("\ufeffname, id,timezone,keys\n" +
		"Good,good,UTC,A; B ;\n" +
		"Bad Id,Bad Secret,UTC,\n" +
		",good,Mars/Base,A;A\n" +
		"\"A\x07\",unknown,Local,\"" + strings.Repeat("x", 101) + "\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 4 || strings.Join(rows[0].keys, "|") != "A|B" || rows[0].Zone != "UTC" {
		t.Errorf("%+v", rows)
	}
	got := strings.Join(faults, "\n")
	for _, want := range []string{
		"line 3: id: must be", "line 4: id: is the same as in line 2", "line 4: name: must be", "line 4: timezone: must be", "line 4: keys: a name is listed twice",
		"line 5: id: must be", "line 5: name: must be", "line 5: timezone: must be", "line 5: keys: each name must have",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %q in\n%s", want, got)
		}
	}
	if len(faults) != 9 || strings.Contains(got, "Secret") || strings.Contains(got, "Mars") {
		t.Errorf("%d faults, or one with a value:\n%s", len(faults), got)
	}
	for name, text := range map[string]string{"no zone": "id,name\n", "strange column": "id,name,timezone,colour\n", "empty": ""} {
		if _, _, err := readHospitals(bytes.NewBufferString(text)); err == nil {
			t.Errorf("%s: was taken", name)
		}
	}
	nowhere := filepath.Join(t.TempDir(), "none")
	if code, _, stderr := say(t, "hospitals", "import", hospitalsFile(t, "a,A,UTC,K"), "--data", nowhere, "--scopes", "fly"); code != 2 || !strings.Contains(stderr, "--scopes: unknown scope") || !strings.Contains(stderr, "--kafka") {
		t.Errorf("code %d, says %q", code, stderr)
	}
	if code, _, stderr := say(t, "hospitals", "import", hospitalsFile(t, "a,A,UTC,K"), "--kafka", "127.0.0.1:1"); code != 2 || !strings.Contains(stderr, "--scopes: required") {
		t.Errorf("code %d, says %q", code, stderr)
	}
}
