package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestDevTour runs the tour of the API on svc dev, and expects svc dev to apply each request at the first attempt. So
// it runs before the parallel tests, which slow down the machine. The tours on real servers may retry.
func TestDevTour(t *testing.T) {
	d := startDev(t, t.TempDir(), "--ephemeral")
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	p.firstTry = true
	tour(t, p)
	watch := startWatch()
	d.stop()
	if took := watch.elapsed(); took > 2*time.Second {
		t.Errorf("Ctrl-C took %v", took)
	}
}

func TestDevRestartKeepsDataAndKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startDev(t, dir)
	p := newPartner(first.BaseURL, first.HospitalID, first.APIKey)
	p.accepted(t, "staffing", `{"nursesOnDuty":3}`)
	p.accepted(t, "census", `{"rooms":[{"roomId":1,"status":"occupied","primaryFactor":"labor-standard"}]}`)
	before := string(p.get(t, "/api/v1/unit-state").Data)
	first.stop()

	second := startDev(t, dir)
	if second.APIKey != first.APIKey || second.AdminKey != first.AdminKey {
		t.Error("the keys changed")
	}
	p = newPartner(second.BaseURL, second.HospitalID, second.APIKey)
	eventually(t, 10*time.Second, func() error {
		a := p.get(t, "/api/v1/unit-state")
		if a.status != http.StatusOK || string(a.Data) != before {
			return fmt.Errorf("after the restart %d %s, before %s", a.status, a.raw, before)
		}
		return nil
	})
}

func TestTwoDevOnOneFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startDev(t, dir)
	out, err := exec.Command(binary(t), "dev", "--data", dir, "--listen", "127.0.0.1:0").CombinedOutput()
	wantRefusal(t, out, err, "another svc dev is using "+dir)
}

func TestDevRefusals(t *testing.T) {
	t.Parallel()
	d := startDev(t, t.TempDir(), "--ephemeral")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"port in use":       {[]string{"--data", t.TempDir(), "--listen", d.BaseURL[len("http://"):]}, "is in use"},
		"kafka port in use": {[]string{"--data", t.TempDir(), "--listen", "127.0.0.1:0", "--kafka-port", d.Kafka[strings.LastIndex(d.Kafka, ":")+1:]}, "is in use"},
		"folder is a file":  {[]string{"--data", file, "--listen", "127.0.0.1:0"}, "data folder " + file},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command(binary(t), append([]string{"dev"}, tt.args...)...).CombinedOutput()
			wantRefusal(t, out, err, tt.want)
		})
	}
}

// wantRefusal expects one line of output and exit code 1.
func wantRefusal(t *testing.T, out []byte, err error, want string) {
	t.Helper()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("ends with %v, want exit code 1", err)
	}
	if text := strings.TrimSpace(string(out)); !strings.Contains(text, want) || strings.Contains(text, "\n") {
		t.Errorf("says %q, want one line with %q", text, want)
	}
}

func TestDevListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(binary(t), "dev", "--data", t.TempDir(), "--listen", "0.0.0.0:0").CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "only this machine") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestReadHoldsWrite alternates writes and reads, 2,000 times or SVC_READS. Each read must contain the effect of the
// preceding write.
func TestReadHoldsWrite(t *testing.T) {
	t.Parallel()
	d := startDev(t, t.TempDir(), "--ephemeral")
	times, _ := howOften(t, "SVC_READS", readsOfDev)
	readHoldsWrite(t, newPartner(d.BaseURL, d.HospitalID, d.APIKey), times)
}

// TestReadHoldsWriteOnServers repeats TestReadHoldsWrite on real servers, 4,000 times or SVC_READS.
func TestReadHoldsWriteOnServers(t *testing.T) {
	t.Parallel()
	times, _ := howOften(t, "SVC_READS", readsOfRoles)
	s := startSystem(t, "north")
	s.processor("p1")
	readHoldsWrite(t, s.partners[0], times)
}

func readHoldsWrite(t *testing.T, p *partner, times int) {
	t.Helper()
	const connections = 8
	p.accepted(t, "clinical", `{"roomId":0,"signals":[]}`)
	var all sync.WaitGroup
	for room := range connections {
		all.Go(func() {
			for n := range times / connections {
				status := []string{"active", "completed"}[n%2]
				wrote := p.accepted(t, "clinical",
					fmt.Sprintf(`{"roomId":%d,"signals":[{"kind":"medication","system":"RxNorm","code":"6585","status":%q}]}`, room, status))
				u := p.unitState(t)
				for _, r := range u.Rooms {
					if r.RoomID == int32(room) && (len(r.Factors) > 0) != (status == "active") {
						t.Errorf("read %d of room %d does not hold the write %s: %+v after %+v", n, room, status, r, wrote)
						return
					}
				}
			}
		})
	}
	all.Wait()
}

// patientCanaries represent data that must never be stored: a name, a record number, a birth date, an address, a
// visit number and a telephone number.
var patientCanaries = []string{"CANARYNAME", "CANARYMRN77", "19990817", "CANARYSTREET", "CANARYVISIT", "8812345678"}

// sendCanaries sends the canaries on every feed.
func sendCanaries(t *testing.T, p *partner, mllp string) {
	t.Helper()
	now := time.Now().UTC()
	hl7 := strings.Join([]string{
		`MSH|^~\&|EPIC|STMARY|SVC|STMARY|` + now.Format("20060102150405") + `||ADT^A01|CANARYMRN77-1|P|2.5.1`,
		`EVN|A01|` + now.Format("20060102150405"),
		`PID|1|CANARYMRN77|CANARYMRN77^^^STMARY^MR||CANARYNAME^CANARYNAME||19990817|F|||CANARYSTREET 1^^TOWN||555-0100`,
		`NK1|1|CANARYNAME^CANARYNAME|MTH|CANARYSTREET`,
		`PV1|1|I|L&D^LDR09^01^STMARY||||1234^CANARYNAME|||OBS|||||||||CANARYVISIT1`,
		`PV2|||^CANARYNAME has contractions`,
		`DG1|1||O14.13^Severe pre-eclampsia 8812345678^I10`,
		`OBX|1|TX|1^note||CANARYNAME CANARYSTREET`,
	}, "\r")
	for _, message := range []string{hl7, everyField(now)} {
		a, err := p.do(http.MethodPost, "/api/ingest/hl7", "text/plain", message)
		if err != nil || a.status != http.StatusOK || !strings.Contains(string(a.raw), "\rMSA|AA|") {
			t.Fatalf("hl7: %v %+v", err, a)
		}
	}
	e := &engine{address: func() string { return mllp }}
	defer e.close()
	for _, message := range []string{strings.Replace(hl7, "77-1", "77-4", 1), strings.Replace(hl7, "|CANARYMRN77-1|", "||", 1), "CANARYNAME\r"} {
		if code, err := e.try(message); err != nil || code == "" {
			t.Fatalf("mllp: %q %v", code, err)
		}
	}
	at := now.Format(time.RFC3339)
	event := fmt.Sprintf(`{"eventId":"CANARYMRN77-2","eventType":"A01","occurredAt":%q,"visitId":"CANARYVISIT2","patientId":"CANARYMRN77","motherVisitId":"CANARYVISIT1","roomId":41,"name":"CANARYNAME","birthDate":"19990817","address":"CANARYSTREET"}`, at)
	for _, body := range [][2]string{
		{"adt", event},
		{"batch", `{"events":[` + strings.ReplaceAll(event, "77-2", "77-3") + `,{"visitId":"CANARYVISIT9","eventType":"CANARYNAME"}]}`},
		{"census", `{"rooms":[{"roomId":41,"status":"occupied","visitId":"CANARYVISIT2","patientName":"CANARYNAME","birthDate":"19990817","newborns":[{"visitId":"CANARYVISIT3"}]},{"roomId":42,"status":"occupied"}]}`},
		{"clinical", `{"roomId":42,"patientName":"CANARYNAME","signals":[{"kind":"observation","system":"LOINC","code":"32421-5","value":"seen by CANARYNAME, CANARYMRN77"},{"kind":"observation","system":"LOINC","code":"8716-3","display":"vital signs 8812345678","value":"CANARYSTREET"}]}`},
		{"roster", `{"nurses":[{"externalId":"n1","name":"CANARYNAME","skillLevel":1}]}`},
		{"staffing", `{"nursesOnDuty":4,"note":"CANARYNAME"}`},
		{"fhir", everyElement(at)},
		{"fhir", `[{"resourceType":"Observation","status":"CANARYNAME"},{"resourceType":"Encounter","id":{"value":"CANARYVISIT5"},"status":"finished"}]`},
		{"fhir", `{"name":"CANARYNAME"`},
		{"clinical", `{"roomId":"CANARYMRN77","signals":[]}`},
		{"adt", `{"eventType":"A01","visitId":"CANARYVISIT4","occurredAt":"CANARYNAME"}`},
	} {
		a := p.post(t, body[0], body[1])
		findCanary(t, "answer of "+body[0], string(a.raw), patientCanaries)
	}
	findCanary(t, "unit-state", string(p.get(t, "/api/v1/unit-state").raw), patientCanaries)
}

// everyField returns an HL7 message with canaries in every field, component, subcomponent and repetition, except in
// codes and locations, which are stored by design.
func everyField(now time.Time) string {
	at := now.Format("20060102150405")
	kept := map[string]string{ // fields that svc reads or that identify the sender
		"EVN-2": at, "EVN-6": at, "PID-7": "19990817",
		"NK1-3": "MTH", "PV1-2": "I", "PV1-3": "LDR^LDR08", "PV1-4": "L", "PV1-6": "LDR^LDR07", "PV1-10": "OBS",
		"PV2-36": "N", "DG1-2": "I10", "DG1-3": "O14.13^call 8812345678^I10", "DG1-4": "born 19990817", "DG1-5": at, "DG1-21": "",
	}
	lines := []string{`MSH|^~\&|EPIC|STMARY|SVC|STMARY|` + at + `|CANARYNAME|ADT^A01^ADT_A01|every-field|P|2.5.1|CANARYMRN77|CANARYMRN77|||CANARYNAME||CANARYNAME|CANARYNAME|CANARYNAME|CANARYNAME|CANARYNAME`}
	for _, s := range []struct {
		name   string
		fields int
	}{
		{"SFT", 6},
		{"EVN", 7},
		{"PID", 40},
		{"PD1", 22},
		{"ARV", 6},
		{"ROL", 13},
		{"NK1", 40},
		{"PV1", 54},
		{"PV2", 50},
		{"DB1", 8},
		{"OBX", 26},
		{"AL1", 6},
		{"DG1", 26},
		{"DRG", 33},
		{"PR1", 25},
		{"GT1", 57},
		{"IN1", 55},
		{"IN2", 72},
		{"IN3", 28},
		{"ACC", 13},
		{"UB1", 23},
		{"UB2", 17},
		{"PDA", 9},
		{"NTE", 5},
		{"MRG", 7},
		{"ZPI", 40},
	} {
		fields := []string{s.name}
		for n := 1; n <= s.fields; n++ {
			value, known := kept[fmt.Sprintf("%s-%d", s.name, n)]
			if !known {
				value = "CANARYMRN77^CANARYNAME&CANARYSTREET^19990817^8812345678^MR~CANARYVISIT\\X43414E4152594E414D45\\"
			}
			fields = append(fields, value)
		}
		lines = append(lines, strings.Join(fields, "|"))
	}
	return strings.Join(lines, "\r")
}

func TestCanariesInDev(t *testing.T) {
	t.Parallel()
	d := startDev(t, t.TempDir(), "--log-level", "debug")
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	sendCanaries(t, p, d.MLLP)
	canaries(t, d.Kafka, "", patientCanaries...)
	searchRedis(t, strings.TrimPrefix(d.Redis, "redis://"), patientCanaries)
	findCanary(t, "the log", d.logged(), patientCanaries)
}

func TestCanariesOnServers(t *testing.T) {
	t.Parallel()
	s := startSystem(t, "north")
	processor := s.processor("p1")
	ingest, address := s.mllp()
	sendCanaries(t, s.partners[0], address)
	canaries(t, s.kafka.address, s.prefix, patientCanaries...)
	searchRedis(t, s.redis.address, patientCanaries)
	findCanary(t, "the log", s.front.logged()+ingest.logged()+processor.logged(), patientCanaries)
}

// TestKeysEverywhere follows one key from minting to revocation, on the command line while svc dev runs.
func TestKeysEverywhere(t *testing.T) {
	dir := t.TempDir()
	d := startDev(t, dir)
	status := func(key string) int {
		a := newPartner(d.BaseURL, d.HospitalID, key).get(t, "/api/v1/level")
		return a.status
	}
	key := cli(t, nil, "keys", "mint", "--data", dir, "--hospital", d.HospitalID, "--name", "reader", "--scopes", "read:unit-state")
	eventually(t, time.Second, func() error { return wantStatus(status(key), http.StatusNotFound) })
	if a := newPartner(d.BaseURL, d.HospitalID, key).post(t, "staffing", `{"nursesOnDuty":1}`); a.status != http.StatusForbidden || a.Error.Code != "forbidden_scope" || !strings.Contains(a.Error.Message, "ingest:staffing") {
		t.Errorf("a write with a reader's key: %d %s", a.status, a.raw)
	}
	// A mistyped hospital is an error, not an empty list.
	if out, ok := svcIn(t, dir, "keys", "list", "--hospital", "typo"); ok || !strings.Contains(out, `no hospital "typo"`) {
		t.Errorf("the keys of a hospital that is not there: %v, %s", ok, out)
	}
	if out, ok := svcIn(t, dir, "export", "--topic", "observations", "--hospital", "typo", "--out", t.TempDir()); !ok || !strings.Contains(out, `no record for hospital "typo" was found`) {
		t.Errorf("an export of a hospital that is not there: %v, %s", ok, out)
	}
	listed := items[struct{ ID, Prefix, Name, Status string }](t, cli(t, nil, "keys", "list", "--data", dir, "--json"))
	id := ""
	for _, k := range listed {
		if k.Name == "reader" && k.Status == "active" {
			if id = k.ID; k.Prefix != key[:8] {
				t.Errorf("the list tells the prefix %q of %s", k.Prefix, id)
			}
		}
	}
	rotated := cli(t, nil, "keys", "rotate", "--data", dir, id, "--overlap", "1h")
	eventually(t, time.Second, func() error { return wantStatus(status(rotated), http.StatusNotFound) })
	if err := wantStatus(status(key), http.StatusNotFound); err != nil {
		t.Errorf("the old key in its overlap: %v", err)
	}
	cli(t, nil, "keys", "revoke", "--data", dir, id)
	eventually(t, time.Second, func() error { return wantStatus(status(key), http.StatusUnauthorized) })
	if err := wantStatus(status(rotated), http.StatusNotFound); err != nil {
		t.Errorf("the new key after the old one is revoked: %v", err)
	}
	var first, again struct{ RevokedAt string }
	into(t, []byte(cli(t, nil, "keys", "revoke", "--data", dir, id, "--json")), &first)
	into(t, []byte(cli(t, nil, "keys", "revoke", "--data", dir, id, "--json")), &again)
	if first.RevokedAt == "" || again != first {
		t.Errorf("revoked twice: at %s, then at %s", first.RevokedAt, again.RevokedAt)
	}
}

func wantStatus(got, want int) error {
	if got != want {
		return fmt.Errorf("status %d, want %d", got, want)
	}
	return nil
}
