package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRulesAreSaidToPeople: the error message explains a rule whose name is not self-explanatory.
func TestRulesAreSaidToPeople(t *testing.T) {
	var no refusal
	if err := json.Unmarshal([]byte(`{"message":"See details.","details":[
		{"path":"readerKeyIds[0]","rule":"key"},{"path":"mappings[1]","rule":"unique"},{"path":"ackMinutes","rule":"range:0-1440"},
		{"path":"url","rule":"scheme_refused"}]}`), &no); err != nil {
		t.Fatal(err)
	}
	if got := no.Error(); got != "See details: readerKeyIds[0] not found: key; mappings[1] is listed twice; ackMinutes range:0-1440; "+
		"url scheme_refused (Use an https URL)" {
		t.Error(got)
	}
}

// TestImportSaysHowFarItCame: a file with more rows than a request holds needs several requests. If one of them is
// refused after the dry run found no error, the rows of the earlier requests remain.
func TestImportSaysHowFarItCame(t *testing.T) {
	var file strings.Builder
	file.WriteString("system,code,factorId\n")
	for i := range chunkRows + 1 {
		fmt.Fprintf(&file, "local,C%d,high-mag\n", i)
	}
	path := filepath.Join(t.TempDir(), "map.csv")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ answer, want string }{
		"the limit": {
			`{"ok":false,"error":{"code":"unprocessable","message":"The map is full.","details":[{"path":"mappings","rule":"maxItems:20000"}]}}`,
			"only 1000 of 1001 rows were imported; errors: 1",
		},
		"an outage": {
			`{"ok":false,"error":{"code":"internal","message":"Kafka is unavailable."}}`,
			"only 1000 of 1001 rows were imported: Kafka is unavailable.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			writes := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("dryRun") == "false" {
					writes++
				}
				if writes > 1 {
					fmt.Fprint(w, tt.answer)
					return
				}
				fmt.Fprint(w, `{"ok":true,"data":{"activated":[],"expired":[]}}`)
			}))
			defer server.Close()
			code, _, stderr := say(t, "terminology", "import", path, "--api", server.URL, "--key", "svc_1")
			if code != 1 || !strings.Contains(stderr, tt.want) || strings.Contains(stderr, "nothing") {
				t.Errorf("code %d, says %q, want %q", code, stderr, tt.want)
			}
		})
	}
}

// TestTerminologyExport: an export replaces an earlier file only as a whole, so another link to that file keeps its
// content.
func TestTerminologyExport(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"ok":true,"data":{"mappings":[{"system":"local","code":"QBL","factorId":"high-hemorrhage"}]}}`)
	}))
	defer server.Close()
	path, earlier := filepath.Join(t.TempDir(), "map.csv"), filepath.Join(t.TempDir(), "earlier")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Link(path, earlier)); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := say(t, "terminology", "export", path, "--api", server.URL, "--key", "svc_1"); code != 0 {
		t.Fatal(stderr)
	}
	got, err := os.ReadFile(path)
	old, fault := os.ReadFile(earlier)
	if err != nil || fault != nil || !strings.Contains(string(got), "QBL") || len(old) > 0 {
		t.Errorf("the file is %q, the earlier one %q, %v, %v", got, old, err, fault)
	}
}
