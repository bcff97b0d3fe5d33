package webhook

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/internal/signature"
	"svc/internal/testkit/runtimes"
	"svc/notifier/egress"
)

const docs = "../../docs/webhooks.md"

// snippet returns the code in docs/webhooks.md or docs/reference/signatures.md for the given language.
func snippet(t *testing.T, language string) string {
	t.Helper()
	var found [][]string
	for _, path := range []string{docs, "../../docs/reference/signatures.md"} {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(page), -1)...)
	}
	if len(found) != 1 {
		t.Fatalf("%d snippets of %s", len(found), language)
	}
	return found[0][1]
}

// verifyCase is one request that a snippet must accept or refuse.
type verifyCase struct {
	name, secret, id, timestamp, signatures, body string
	want                                          bool
}

func verifyCases(now time.Time) []verifyCase {
	const body = `{"protocol":"svc.v1","summary":"Kreißsaal 4 – rot"}`
	const own = "a secret that the partner chose"
	at := func(secret, id string, at time.Time) verifyCase {
		signed, _ := signature.Sign([]subscriber.Secret{{Value: secret, State: subscriber.SecretCurrent}}, id, at, []byte(body))
		return verifyCase{"", secret, id, signed.Timestamp, signed.Standard, body, true}
	}
	change := func(name string, want bool, change func(*verifyCase)) verifyCase {
		c := at(secret, "evt_00", now)
		c.name, c.want = name, want
		change(&c)
		return c
	}
	return []verifyCase{
		change("as it was sent", true, func(*verifyCase) {}),
		change("a chosen secret", true, func(c *verifyCase) { *c = at(own, "evt_01", now) }),
		change("rotated, newest first", true, func(c *verifyCase) { c.signatures = "v1,AAAA " + c.signatures }),
		change("rotated, newest last", true, func(c *verifyCase) { c.signatures += " v1,AAAA" }),
		change("another version beside it", true, func(c *verifyCase) { c.signatures = "v2,AAAA " + c.signatures }),
		change("four minutes old", true, func(c *verifyCase) { *c = at(secret, "evt_02", now.Add(-4*time.Minute)) }),
		change("an hour old", false, func(c *verifyCase) { *c = at(secret, "evt_03", now.Add(-time.Hour)); c.want = false }),
		change("an hour ahead", false, func(c *verifyCase) { *c = at(secret, "evt_04", now.Add(time.Hour)); c.want = false }),
		change("another body", false, func(c *verifyCase) { c.body += " " }),
		change("another id", false, func(c *verifyCase) { c.id = "evt_05" }),
		change("another time", false, func(c *verifyCase) { c.timestamp = fmt.Sprint(now.Unix() + 1) }),
		change("no time", false, func(c *verifyCase) { c.timestamp = "" }),
		change("time in words", false, func(c *verifyCase) { c.timestamp = "today" }),
		change("another secret", false, func(c *verifyCase) { c.secret = "whsec_GBcWFRQTEhEQDw4NDAsKCQgHBgUEAwIB" }),
		change("a chosen secret, other", false, func(c *verifyCase) { c.secret = own }),
		change("no signature", false, func(c *verifyCase) { c.signatures = "" }),
		change("cut signature", false, func(c *verifyCase) { c.signatures = c.signatures[:20] }),
		change("without its version", false, func(c *verifyCase) { c.signatures = strings.TrimPrefix(c.signatures, "v1,") }),
	}
}

// languages contains a test program for each language. The program reads lines of five base64 values and prints true
// or false for each line.
var languages = map[string]struct {
	runtime  string
	files    func(code string) map[string]string
	commands [][]string
}{
	"go": {"go", func(code string) map[string]string {
		return map[string]string{"go.mod": "module verify\n\ngo 1.26\n", "verify.go": "package main\n\n" + code, "main.go": `package main
import ("bufio"; "encoding/base64"; "fmt"; "os"; "strings")
func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var v [5]string
		for i, one := range strings.Split(lines.Text(), ",") { b, _ := base64.StdEncoding.DecodeString(one); v[i] = string(b) }
		fmt.Println(Verify(v[0], v[1], v[2], v[3], []byte(v[4])))
	}
}`}
	}, [][]string{{"go", "run", "."}}},
	"python": {"python3", func(code string) map[string]string {
		return map[string]string{"main.py": code + `
import sys
for line in sys.stdin:
    v = [base64.b64decode(one) for one in line.strip().split(",")]
    print(str(verify(*[one.decode() for one in v[:4]], v[4])).lower())
`}
	}, [][]string{{"python3", "main.py"}}},
	"javascript": {"node", func(code string) map[string]string {
		return map[string]string{"main.js": code + `
for (const line of require("node:fs").readFileSync(0, "utf8").trim().split("\n")) {
  const v = line.split(",").map((one) => Buffer.from(one, "base64"));
  console.log(verify(...v.slice(0, 4).map(String), v[4]));
}`}
	}, [][]string{{"node", "main.js"}}},
	"java": {"javac", func(code string) map[string]string {
		return map[string]string{"Webhooks.java": code, "Main.java": `
class Main {
    public static void main(String[] args) throws Exception {
        var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            byte[][] v = new byte[5][];
            String[] parts = line.split(",", -1);
            for (int i = 0; i < 5; i++) v[i] = java.util.Base64.getDecoder().decode(parts[i]);
            var utf8 = java.nio.charset.StandardCharsets.UTF_8;
            System.out.println(Webhooks.verify(new String(v[0], utf8), new String(v[1], utf8), new String(v[2], utf8), new String(v[3], utf8), v[4]));
        }
    }
}`}
	}, [][]string{{"javac", "-J-XX:TieredStopAtLevel=1", "Webhooks.java", "Main.java"}, {"java", "-XX:TieredStopAtLevel=1", "-cp", ".", "Main"}}},
	"sh": {"openssl", func(code string) map[string]string {
		return map[string]string{"main.sh": code + `
value() { printf %s "$line" | cut -d, -f"$1" | openssl base64 -d -A; }
while read -r line; do
  if value 5 | verify "$(value 1)" "$(value 2)" "$(value 3)" "$(value 4)" 2>/dev/null; then echo true; else echo false; fi
done`}
	}, [][]string{{"sh", "main.sh"}}},
}

// TestSnippets runs the code snippets in the documentation on requests that svc would send, and on tampered ones.
// make test reports missing runtimes.
func TestSnippets(t *testing.T) {
	for language, l := range languages {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			code := snippet(t, language)
			runtimes.Program(t, l.runtime)
			dir := t.TempDir()
			for name, content := range l.files(code) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cases := verifyCases(time.Now())
			var out []byte
			for _, command := range l.commands {
				cmd := exec.CommandContext(ctx, command[0], command[1:]...)
				cmd.Dir, cmd.Stdin = dir, strings.NewReader(encoded(cases))
				var said bytes.Buffer
				cmd.Stderr = &said
				var err error
				if out, err = cmd.Output(); err != nil {
					t.Fatalf("%v: %v\n%s", command, err, &said)
				}
			}
			judged(t, cases, string(out))
		})
	}
}

// TestShellExecutesNothing: the function for the shell does not execute what a header contains, in any shell.
func TestShellExecutesNothing(t *testing.T) {
	code := snippet(t, "sh")
	for _, shell := range []string{"sh", "bash"} {
		t.Run(shell, func(t *testing.T) {
			runtimes.Program(t, shell)
			values := []string{"whsec_AAAA", "evt_00", "1", "v1,AAAA"}
			for i := range values {
				for _, command := range []string{"$(touch done)", "`touch done`", "a[$(touch done)]", "1; touch done", "-n '$(touch done)'"} {
					dir, given := t.TempDir(), append([]string{"-c", code + "\nverify \"$@\"", shell}, values...)
					given[3+i] = command
					cmd := exec.CommandContext(t.Context(), shell, given...)
					cmd.Dir, cmd.Stdin = dir, strings.NewReader("{}")
					if err := cmd.Run(); err == nil {
						t.Errorf("%q is valid in place of %q", command, values[i])
					}
					if _, err := os.Stat(filepath.Join(dir, "done")); err == nil {
						t.Errorf("%q is executed in place of %q", command, values[i])
					}
				}
			}
		})
	}
}

func encoded(cases []verifyCase) string {
	var lines strings.Builder
	for _, c := range cases {
		values := []string{c.secret, c.id, c.timestamp, c.signatures, c.body}
		for i := range values {
			values[i] = base64.StdEncoding.EncodeToString([]byte(values[i]))
		}
		lines.WriteString(strings.Join(values, ",") + "\n")
	}
	return lines.String()
}

func judged(t *testing.T, cases []verifyCase, out string) {
	t.Helper()
	got := strings.Fields(out)
	if len(got) != len(cases) {
		t.Fatalf("%d verdicts on %d requests:\n%s", len(got), len(cases), out)
	}
	for i, c := range cases {
		if got[i] != fmt.Sprint(c.want) {
			t.Errorf("%s: %s, want %v", c.name, got[i], c.want)
		}
	}
}

// TestLibrary verifies svc's signatures with the official Standard Webhooks library for JavaScript.
func TestLibrary(t *testing.T) {
	folder := runtimes.Node(t, "standardwebhooks@1.1.1")
	cases := verifyCases(time.Now())
	cmd := exec.CommandContext(t.Context(), runtimes.Program(t, "node"), "testdata/standardwebhooks.js")
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(folder, "node_modules"))
	cmd.Stdin = strings.NewReader(encoded(cases))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	judged(t, cases, string(out))
}

// TestDocsAreTrue compares the lists in docs/webhooks.md and docs/reference/webhook-results.md with the code.
func TestDocsAreTrue(t *testing.T) {
	content, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	results, err := os.ReadFile("../../docs/reference/webhook-results.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(content) + string(results)
	for _, event := range []string{outbound.LevelChanged, outbound.RoomRescored, outbound.Alert, outbound.Ping} {
		if !strings.Contains(page, "| `"+event+"` |") {
			t.Errorf("no event %s", event)
		}
	}
	for _, reason := range []egress.Reason{
		egress.URLInvalid, egress.FragmentRefused, egress.SchemeRefused, egress.UserInfoRefused, egress.HostRefused, egress.PortRefused,
		egress.AddressRefused, egress.AddressNotListed, egress.NameUnresolved,
	} {
		if !strings.Contains(page, "| `"+string(reason)+"` |") {
			t.Errorf("no reason %s", reason)
		}
	}
	for _, class := range []sending.Class{
		sending.ClassOK, sending.ClassStatus, sending.ClassThrottled, sending.ClassGone, sending.ClassRedirect, sending.ClassDNS,
		sending.ClassRefused, sending.ClassReset, sending.ClassTimeout, sending.ClassTLS, sending.ClassBlocked, sending.ClassInterrupted,
	} {
		if !strings.Contains(page[strings.Index(page, "## Attempts"):], "`"+string(class)+"`") {
			t.Errorf("no class %s", class)
		}
	}
	signed, _ := signature.Sign([]subscriber.Secret{{Value: secret, State: subscriber.SecretCurrent}}, "evt_00", time.Unix(1772373900, 0), []byte(`{"protocol":"svc.v1"}`))
	for _, line := range []string{"X-Svc-Signature: " + signed.Body, "webhook-timestamp: " + signed.Timestamp, "webhook-signature: " + signed.Standard, "User-Agent: " + userAgent} {
		if !strings.Contains(page, "\n"+line+"\n") {
			t.Errorf("the vector is not what is sent: %s", line)
		}
	}
}
