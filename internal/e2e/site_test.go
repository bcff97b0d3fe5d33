package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// administered is the response to an administrator's change.
type administered struct {
	ingested
	DryRun   bool
	Changes  []struct{ RoomID *int32 }
	Mappings []struct{ ID, System, Code, FactorID string }
	ID       string
	Version  *int64
}

func (p *partner) act(t testing.TB, method, path, body string, want int, headers ...string) (a administered) {
	t.Helper()
	got, err := p.do(method, "/api/admin/"+path, "application/json", body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	if got.status != want {
		t.Fatalf("%s %s: %d, want %d: %s", method, path, got.status, want, got.raw)
	}
	if want == http.StatusOK {
		into(t, got.Data, &a)
		if !a.Applied {
			t.Fatalf("%s %s: not applied: %s", method, path, got.raw)
		}
	}
	return a
}

type worklist struct {
	Items []struct {
		System, Code, Display, Kind, Feed, Status string
		Count24h, CountTotal                      int
		Rooms                                     []int32
		Suggestions                               []struct{ FactorID, Reason string }
	}
	Total int
}

func (p *partner) worklist(t testing.TB, query string) (w worklist) {
	t.Helper()
	a := p.get(t, "/api/admin/terminology/worklist"+query)
	if a.status != http.StatusOK {
		t.Fatalf("worklist: %d %s", a.status, a.raw)
	}
	into(t, a.Data, &w)
	return w
}

// factorsOf returns the factors of the room that these tests use.
func factorsOf(u unitState) (ids []string) {
	for _, r := range u.Rooms {
		if r.RoomID == 7 {
			for _, f := range r.Factors {
				ids = append(ids, f.ID)
			}
		}
	}
	return ids
}

// administration tests how an administrator maps codes and changes the rules, the locations and the settings. An
// unmapped code has no effect and is listed once. Adding or removing a mapping also affects messages that were
// already received. A dry run returns the result that the change would have.
func administration(t *testing.T, p, admin *partner) {
	t.Helper()
	const unknown = `{"roomId":7,"signals":[{"kind":"observation","system":"local","code":"OB_HEM_ALERT","display":"Obstetric hemorrhage alert"}]}`
	p.accepted(t, "clinical", unknown)
	p.accepted(t, "clinical", unknown)
	if u := p.unitState(t); factorsOf(u) != nil {
		t.Fatalf("an unmapped code has an effect: %v", u.Rooms)
	}
	w := admin.worklist(t, "")
	if w.Total != 1 || w.Items[0].Code != "OB_HEM_ALERT" || w.Items[0].CountTotal != 2 || w.Items[0].Count24h != 2 ||
		w.Items[0].Status != "unmapped" || w.Items[0].Kind != "observation" || w.Items[0].Feed != "clinical" ||
		fmt.Sprint(w.Items[0].Rooms) != "[7]" || len(w.Items[0].Suggestions) == 0 || w.Items[0].Suggestions[0].FactorID != "high-hemorrhage" {
		t.Fatalf("worklist %+v", w)
	}

	const mapping = `{"system":"local","code":"OB_HEM_ALERT","factorId":"high-hemorrhage","kind":"observation","comment":"from the alert module"}`
	dry := admin.act(t, http.MethodPost, "terminology?dryRun=true", mapping, http.StatusOK)
	if !dry.DryRun || len(dry.Activated) != 1 || len(dry.Changes) == 0 || factorsOf(p.unitState(t)) != nil {
		t.Fatalf("dry run %+v, factors %v", dry, factorsOf(p.unitState(t)))
	}
	real := admin.act(t, http.MethodPost, "terminology", mapping, http.StatusOK)
	if real.DryRun || fmt.Sprint(real.Activated, real.Expired, *real.Level, *real.Outcome, len(real.Changes)) != fmt.Sprint(dry.Activated, dry.Expired, *dry.Level, *dry.Outcome, len(dry.Changes)) {
		t.Errorf("dry run %+v, and then %+v", dry, real)
	}
	if got := factorsOf(p.unitState(t)); fmt.Sprint(got) != "[high-hemorrhage]" {
		t.Errorf("factors of the room %v", got)
	}
	if w := admin.worklist(t, "?status=mapped"); w.Total != 1 {
		t.Errorf("mapped codes %+v", w)
	}
	id := real.Mappings[0].ID
	var list struct {
		Mappings []struct {
			ID, Comment, By, FactorID string
			Version                   int64
		}
		Total int
	}
	into(t, admin.get(t, "/api/admin/terminology").Data, &list)
	if list.Total != 1 || list.Mappings[0].ID != id || list.Mappings[0].Comment == "" || list.Mappings[0].By == "" {
		t.Fatalf("list %+v", list)
	}
	admin.act(t, http.MethodDelete, "terminology/"+id, "", http.StatusPreconditionFailed, "If-Match", `"999999"`)
	back := admin.act(t, http.MethodDelete, "terminology/"+id, "", http.StatusOK, "If-Match", fmt.Sprintf("%q", fmt.Sprint(list.Mappings[0].Version)))
	if len(back.Expired) != 1 || factorsOf(p.unitState(t)) != nil {
		t.Errorf("taken back: %+v, factors %v", back, factorsOf(p.unitState(t)))
	}
	admin.act(t, http.MethodDelete, "terminology/"+id, "", http.StatusNotFound)

	admin.act(t, http.MethodPost, "terminology/worklist/ignore", `{"system":"local","code":"OB_HEM_ALERT"}`, http.StatusOK)
	if w := admin.worklist(t, "?status=unmapped"); w.Total != 0 {
		t.Errorf("an ignored code is still to be looked at: %+v", w)
	}
	p.accepted(t, "clinical", unknown)
	if w := admin.worklist(t, ""); w.Total != 1 || w.Items[0].Status != "ignored" || w.Items[0].CountTotal != 3 {
		t.Errorf("an ignored code that comes again: %+v", w)
	}
	admin.act(t, http.MethodPost, "terminology/worklist/restore", `{"codes":[{"system":"local","code":"OB_HEM_ALERT"}]}`, http.StatusOK)
	if w := admin.worklist(t, "?status=unmapped"); w.Total != 1 {
		t.Errorf("restored: %+v", w)
	}

	siteRules(t, p, admin)
	sitePlaces(t, p, admin)
	siteSettings(t, p, admin)
}

func demandOf(u unitState, room int32) float64 {
	for _, r := range u.Rooms {
		if r.RoomID == room {
			return r.NursesRequired
		}
	}
	return -1
}

func siteRules(t *testing.T, p, admin *partner) {
	t.Helper()
	p.accepted(t, "clinical", `{"roomId":8,"signals":[{"kind":"medication","system":"RxNorm","code":"6585","display":"magnesium sulfate","status":"active"}]}`)
	before := demandOf(p.unitState(t), 8)
	const rule = `{"factorId":"high-mag","values":{"floor":"2 until 90m, 1"},"comment":"our protocol"}`
	dry := admin.act(t, http.MethodPost, "rules?dryRun=true", rule, http.StatusOK)
	if len(dry.Changes) == 0 || demandOf(p.unitState(t), 8) != before {
		t.Errorf("dry run of a rule: %+v, demand %v before %v", dry, demandOf(p.unitState(t), 8), before)
	}
	admin.act(t, http.MethodPost, "rules", rule, http.StatusOK, "If-None-Match", "*")
	if got := demandOf(p.unitState(t), 8); got != 2 {
		t.Errorf("demand %v with the rule", got)
	}
	admin.act(t, http.MethodPut, "rules/high-mag", `{"values":{"floor":"2"}}`, http.StatusPreconditionFailed, "If-None-Match", "*")
	admin.act(t, http.MethodPut, "rules/high-mag", `{"values":{"floor":"many"}}`, http.StatusUnprocessableEntity)
	admin.act(t, http.MethodPut, "rules/labor-fhr-cat-iii", `{"values":{"floor":"1/2"}}`, http.StatusUnprocessableEntity)
	admin.act(t, http.MethodPut, "rules/nothing", `{"values":{"floor":"1"}}`, http.StatusUnprocessableEntity)
	var list struct {
		Rules []struct {
			FactorID         string
			Values, Defaults map[string]string
		}
		RulesVersion string
	}
	into(t, admin.get(t, "/api/admin/rules").Data, &list)
	var state struct{ RulesVersion string }
	into(t, p.get(t, "/api/v1/unit-state").Data, &state)
	if len(list.Rules) != 1 || list.Rules[0].Values["floor"] != "2 until 90m, 1" || list.Rules[0].Defaults["floor"] == "" || state.RulesVersion != list.RulesVersion {
		t.Errorf("rules %+v, of the read %s", list, state.RulesVersion)
	}
	admin.act(t, http.MethodDelete, "rules/high-mag", "", http.StatusOK)
	if got := demandOf(p.unitState(t), 8); got != before {
		t.Errorf("demand %v without the rule, before %v", got, before)
	}
}

func sitePlaces(t *testing.T, p, admin *partner) {
	t.Helper()
	p.accepted(t, "adt", `{"eventType":"admit","occurredAt":"2026-03-04T10:00:00Z","visitId":"SITE1","location":{"pointOfCare":"BIRTHCENTER","room":"B9"}}`)
	locations := func() (list struct {
		Locations        []struct{ ID string }
		UnknownLocations []struct {
			RoomID            int32
			PointOfCare, Room string
		}
		Version int64
	},
	) {
		into(t, admin.get(t, "/api/admin/locations").Data, &list)
		return list
	}
	unknown := locations().UnknownLocations
	if len(unknown) != 1 || unknown[0].PointOfCare != "BIRTHCENTER" || unknown[0].Room != "B9" {
		t.Fatalf("unknown locations %+v", unknown)
	}
	row := admin.act(t, http.MethodPost, "locations", `{"pointOfCare":"BIRTHCENTER","room":"B9","roomId":9,"roomLabel":"Birth 9","area":"LDR"}`, http.StatusOK)
	if demandOf(p.unitState(t), 9) < 0 || demandOf(p.unitState(t), unknown[0].RoomID) >= 0 {
		t.Errorf("the visit is not in the room that the table names: %+v", p.unitState(t).Rooms)
	}
	if list := locations(); len(list.Locations) != 1 || list.Locations[0].ID != row.ID || len(list.UnknownLocations) != 0 {
		t.Errorf("locations %+v", list)
	}
	// A batch of rows is written only if the table still has the version that the list returned.
	table := fmt.Sprintf("%q", fmt.Sprint(locations().Version))
	rows := `{"locations":[{"pointOfCare":"BIRTHCENTER","room":"B9","roomId":9,"roomLabel":"Birth 9"},{"pointOfCare":"OR","outside":true}]}`
	admin.act(t, http.MethodPost, "locations", rows, http.StatusOK, "If-Match", table)
	admin.act(t, http.MethodPost, "locations", rows, http.StatusPreconditionFailed, "If-Match", table)
	admin.act(t, http.MethodDelete, "locations/"+row.ID, "", http.StatusOK)
	outside := admin.act(t, http.MethodPost, "locations", `{"pointOfCare":"BIRTHCENTER","outside":true}`, http.StatusOK)
	if got := demandOf(p.unitState(t), unknown[0].RoomID); got > 0 {
		t.Errorf("outside of the unit, and the demand is %v", got)
	}
	admin.act(t, http.MethodDelete, "locations/"+outside.ID, "", http.StatusOK)
	admin.act(t, http.MethodDelete, "locations/loc-x", "", http.StatusNotFound)
}

func siteSettings(t *testing.T, p, admin *partner) {
	t.Helper()
	admin.act(t, http.MethodPut, "settings", `{"timezone":"Mars/Base","senders":[{"keyId":"key_0"}]}`, http.StatusUnprocessableEntity)
	first := admin.act(t, http.MethodPut, "settings", `{"timezone":"America/New_York","staffingFromRoster":true}`, http.StatusOK)
	admin.act(t, http.MethodPut, "settings", `{"timezone":"America/New_York"}`, http.StatusPreconditionFailed, "If-Match", `"1"`)
	var settings struct {
		Timezone           string
		StaffingFromRoster bool
		Version            int64
	}
	into(t, admin.get(t, "/api/admin/settings").Data, &settings)
	if settings.Timezone != "America/New_York" || !settings.StaffingFromRoster || first.Version == nil || settings.Version != *first.Version {
		t.Errorf("settings %+v", settings)
	}
	p.accepted(t, "roster", `{"nurses":[{"externalId":"n1"},{"externalId":"n2"}]}`)
	var state struct{ NursesOnDuty *int }
	if into(t, p.get(t, "/api/v1/unit-state").Data, &state); state.NursesOnDuty == nil || *state.NursesOnDuty != 2 {
		t.Errorf("nurses on duty %v, want those of the roster", state.NursesOnDuty)
	}
	admin.act(t, http.MethodPut, "settings", `{"timezone":"America/Chicago"}`, http.StatusOK, "If-Match", fmt.Sprintf("%q", fmt.Sprint(settings.Version)))
	state.NursesOnDuty = nil
	if into(t, p.get(t, "/api/v1/unit-state").Data, &state); state.NursesOnDuty != nil {
		t.Errorf("nurses on duty %v without the switch", *state.NursesOnDuty)
	}
}

func TestDevAdministration(t *testing.T) {
	t.Parallel()
	d := startDev(t, t.TempDir(), "--ephemeral")
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	admin := newPartner(d.BaseURL, d.HospitalID, d.AdminKey)
	administration(t, p, admin)
	if a, err := p.do(http.MethodGet, "/api/admin/terminology", "", ""); err != nil || a.status != http.StatusForbidden {
		t.Errorf("without the scope: %v %v", a.status, err)
	}
}

// TestDevSenderSwitches: the settings of a key decide whether svc acknowledges the key's messages in HL7's original
// mode, and whether svc refuses messages other than production messages. A change of these settings takes effect
// within seconds, without a restart.
func TestDevSenderSwitches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir, "--ephemeral")
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	admin := newPartner(d.BaseURL, d.HospitalID, d.AdminKey)
	out, ok := svcIn(t, dir, "keys", "list", "--json")
	if !ok {
		t.Fatalf("keys: %s", out)
	}
	id := ""
	for _, k := range items[struct {
		ID     string
		Scopes []string
	}](t, out) {
		if slices.Contains(k.Scopes, "ingest:hl7") {
			id = k.ID
		}
	}
	sent := 0
	code := func(processing, accept string) string {
		t.Helper()
		sent++
		a, err := p.do(http.MethodPost, "/api/ingest/hl7", "text/plain", fmt.Sprintf("MSH|^~\\&|EPIC|STMARY|SVC|STMARY|20260304100000||ADT^A01|SW%[1]d|%[2]s|2.5.1|||%[3]s|NE\r"+
			"EVN|A01|20260304100000\rPV1|1|I|L&D^LDR09^01^STMARY|||||||OBS|||||||||SW%[1]d\r", sent, processing, accept))
		if err != nil || a.status != http.StatusOK {
			t.Fatalf("hl7: %v %+v", err, a)
		}
		_, msa, _ := strings.Cut(string(a.raw), "\rMSA|")
		msa, _, _ = strings.Cut(msa, "|")
		return msa
	}
	answers := func() string {
		t.Helper()
		return strings.Join([]string{code("P", "AL"), code("T", "AL"), code("P", ""), code("T", "NE")}, " ")
	}
	for _, step := range []struct{ senders, want string }{
		{`[]`, "CA CA AA "},
		{`[{"keyId":"` + id + `","originalMode":true}]`, "AA AA AA AA"},
		{`[{"keyId":"` + id + `","originalMode":true,"productionOnly":true}]`, "AA AR AA AR"},
		{`[{"keyId":"` + id + `","productionOnly":true}]`, "CA CR AA "},
		{`[]`, "CA CA AA "},
	} {
		admin.act(t, http.MethodPut, "settings", `{"timezone":"America/Chicago","senders":`+step.senders+`}`, http.StatusOK)
		// The settings reach every process over a topic, shortly after the response.
		eventually(t, 5*time.Second, func() error {
			if got := answers(); got != step.want {
				return fmt.Errorf("senders %s: the answers are %q, want %q", step.senders, got, step.want)
			}
			return nil
		})
	}
}

// svcIn runs a command against the svc dev of a data folder. ok reports whether the command succeeded.
func svcIn(t *testing.T, dir string, args ...string) (out string, ok bool) {
	t.Helper()
	text, err := exec.Command(binary(t), append(args, "--data", dir)...).CombinedOutput()
	return string(text), err == nil
}

// TestDevTerminologyFiles: mappings can also be imported and exported as files. The export must contain every
// imported row. A file with errors changes nothing, and the output names the line of each error.
func TestDevTerminologyFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir, "--ephemeral")
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	p.accepted(t, "clinical", `{"roomId":7,"signals":[{"kind":"lab","system":"local","code":"QBL","value":1600}]}`)

	const content = "system,code,kind,factorId,op,than,comment\n" +
		"ICD-10-CM,O44.3*,diagnosis,high-hemorrhage,,,\n" +
		"local,QBL,lab,high-hemorrhage,>=,1500,\"measured, in mL\"\n" +
		"local,NOISE,,none,,,\n"
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good.csv", content)
	if out, ok := svcIn(t, dir, "terminology", "import", file("bad.csv", content+"local,X,,no-such-factor,,,\nlocal,Y,,high-mag,>=,many,\n")); ok ||
		!strings.Contains(out, "line 5: factorId: not found: factor") || !strings.Contains(out, "line 6: than") {
		t.Errorf("a bad file: %v %s", ok, out)
	}
	if out, ok := svcIn(t, dir, "terminology", "import", good, "--dry-run"); !ok || !strings.Contains(out, "would import 3 rows; factors: 1 activated") {
		t.Errorf("dry run: %v %s", ok, out)
	}
	if out, ok := svcIn(t, dir, "terminology", "export"); !ok || out != "system,code,kind,factorId,op,than,comment\n" {
		t.Errorf("after a dry run and a bad file there is %s", out)
	}
	if out, ok := svcIn(t, dir, "terminology", "import", good); !ok || !strings.Contains(out, "imported 3 rows; factors: 1 activated") {
		t.Errorf("import: %v %s", ok, out)
	}
	if got := factorsOf(p.unitState(t)); fmt.Sprint(got) != "[high-hemorrhage]" {
		t.Errorf("factors of the room %v", got)
	}
	out, _ := svcIn(t, dir, "terminology", "export")
	for line := range strings.SplitSeq(strings.TrimSpace(content), "\n") {
		if !strings.Contains(out, line+"\n") {
			t.Errorf("the export lacks %q:\n%s", line, out)
		}
	}
	if out, ok := svcIn(t, dir, "terminology", "list"); !ok || strings.Count(out, "\n") != 4 {
		t.Errorf("list: %s", out)
	}
	if out, ok := svcIn(t, dir, "terminology", "worklist"); !ok || !strings.Contains(out, "QBL") || !strings.Contains(out, "mapped") {
		t.Errorf("worklist: %s", out)
	}
}

// TestAdministrationOnServers runs administration on real servers with two processors. While another room receives
// feeds, it then adds and removes a mapping, adds a mapping, a rule and a location, and changes a setting. The final
// verdict must follow from the log.
func TestAdministrationOnServers(t *testing.T) {
	t.Parallel()
	s := startSystem(t, "north")
	s.processor("p1")
	s.processor("p2")
	p := s.partners[0]
	admin := newPartner(p.base, p.hospital, cli(t, s.env, "keys", "mint", "--hospital", p.hospital, "--name", "administrator", "--scopes", "admin", "--rate", "0"))
	admin.honored(t)
	administration(t, p, admin)
	p.accepted(t, "staffing", `{"nursesOnDuty":4}`)

	stop, done := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				done <- n
				return
			default:
			}
			a, err := p.do(http.MethodPost, "/api/ingest/clinical", "application/json", `{"roomId":99,"signals":[{"kind":"observation","system":"local","code":"env-interpreter"}]}`)
			if err == nil && a.status == http.StatusOK {
				n++
			}
		}
	}()
	const unknown = `{"roomId":7,"signals":[{"kind":"observation","system":"local","code":"STAT_PAGE"}]}`
	p.accepted(t, "clinical", unknown)
	mapped := admin.act(t, http.MethodPost, "terminology", `{"system":"local","code":"STAT_PAGE","factorId":"high-prolapsed-cord"}`, http.StatusOK)
	if got := factorsOf(p.unitState(t)); len(mapped.Activated) != 1 || fmt.Sprint(got) != "[high-prolapsed-cord]" {
		t.Errorf("activated %+v, factors %v", mapped.Activated, got)
	}
	admin.act(t, http.MethodDelete, "terminology/"+mapped.Mappings[0].ID, "", http.StatusOK)
	if got := factorsOf(p.unitState(t)); got != nil {
		t.Errorf("taken back, and there is %v", got)
	}
	for path, row := range map[string]string{
		"terminology": `{"system":"local","code":"STAT_PAGE","factorId":"high-hemorrhage"}`,
		"rules":       `{"factorId":"high-hemorrhage","values":{"floor":"2"}}`,
		"locations":   `{"pointOfCare":"BIRTHCENTER","room":"B9","roomId":9,"roomLabel":"Birth 9","area":"LDR"}`,
	} {
		admin.act(t, http.MethodPost, path, row, http.StatusOK)
	}
	admin.act(t, http.MethodPut, "settings", `{"timezone":"America/Chicago","trustA08Location":true}`, http.StatusOK)
	p.accepted(t, "adt", `{"eventType":"A08","occurredAt":"2026-03-04T11:00:00Z","visitId":"SITE1","location":{"pointOfCare":"BIRTHCENTER","room":"B8"}}`)
	close(stop)
	if n := <-done; n == 0 {
		t.Error("no traffic flowed")
	}
	if u := p.unitState(t); fmt.Sprint(factorsOf(u)) != "[high-hemorrhage]" || demandOf(u, 7) != 2 {
		t.Errorf("mapping and rule are not in force: %v, demand %v", factorsOf(u), demandOf(u, 7))
	}
	s.verify(nil)
}
