package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/httpapi/limit"
)

// hostile makes the largest bodies that the feeds accept. No two bodies are equal: each contains patients, visits or
// signals that are new to svc.
type hostile struct{ n int }

// hostileBody is a body that hostile makes.
type hostileBody struct{ feed, contentType, text string }

// hostileKinds are the kinds of bodies; next cycles through them.
var hostileKinds = []func(*hostile, string) hostileBody{
	(*hostile).batch, (*hostile).clinical, (*hostile).fhir, (*hostile).census, (*hostile).hl7,
}

// next returns a new body of the next kind.
func (h *hostile) next() hostileBody {
	h.n++
	return hostileKinds[h.n%len(hostileKinds)](h, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
}

func joined(n int, item func(i int) string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item(i)
	}
	return strings.Join(items, ",")
}

func (h *hostile) batch(at string) hostileBody {
	return hostileBody{"batch", "application/json", `{"events":[` + joined(500, func(i int) string {
		return fmt.Sprintf(`{"eventId":"h%d-%d","eventType":"A01","occurredAt":%q,"visitId":"HB%d-%d","patientId":"HP%d-%d","roomId":%d,"patientClass":"I","diagnoses":[{"system":"ICD-10-CM","code":"O14.13"},{"system":"ICD-10-CM","code":"O72.1"}]}`,
			h.n, i, at, h.n, i, h.n, i, 1+i%900)
	}) + `]}`}
}

func (h *hostile) clinical(at string) hostileBody {
	return hostileBody{"clinical", "application/json", fmt.Sprintf(`{"roomId":%d,"signals":[`, 1+h.n%900) + joined(500, func(i int) string {
		return fmt.Sprintf(`{"kind":"observation","system":"LOINC","code":"32421-5","value":"Category III","observedAt":%q,"visitId":"HC%d-%d"}`, at, h.n, i)
	}) + `]}`}
}

func (h *hostile) fhir(at string) hostileBody {
	return hostileBody{"fhir", "application/fhir+json", `{"resourceType":"Bundle","type":"collection","entry":[` + joined(5000, func(i int) string {
		if i%10 == 0 {
			return fmt.Sprintf(`{"resource":{"resourceType":"Encounter","id":"h%d-%d","status":"in-progress","class":{"code":"IMP"},"subject":{"reference":"Patient/h%d-%d"},"period":{"start":%q},"location":[{"location":{"display":"LDR%d"},"status":"active"}]}}`,
				h.n, i, h.n, i, at, 1+i%900)
		}
		return fmt.Sprintf(`{"resource":{"resourceType":"Observation","id":"h%d-%d","status":"final","code":{"coding":[{"system":"http://loinc.org","code":"32421-5"}]},"subject":{"reference":"Patient/h%d-%d"},"encounter":{"reference":"Encounter/h%d-%d"},"effectiveDateTime":%q,"valueString":"Category II"}}`,
			h.n, i, h.n, i-i%10, h.n, i-i%10, at)
	}) + `]}`}
}

func (h *hostile) census(at string) hostileBody {
	return hostileBody{"census", "application/json", fmt.Sprintf(`{"asOf":%q,"rooms":[`, at) + joined(500, func(i int) string {
		return fmt.Sprintf(`{"roomId":%d,"status":"occupied","area":"L&D","visitId":"HR%d-%d","primaryFactor":"labor-standard","modifiers":["labor-epidural-init","env-interpreter"]}`, 1+i+h.n%2*500, h.n, i)
	}) + `]}`}
}

func (h *hostile) hl7(at string) hostileBody {
	stamp := strings.NewReplacer("-", "", ":", "", "T", "", "Z", "").Replace(at)[:14]
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "MSH|^~\\&|EHR|HOSTILE|SVC|SVC|%s||ADT^A01^ADT_A01|H%d-%d|P|2.5.1\rEVN|A01|%s\rPID|1||HQ%d-%d^^^HOSTILE^MR\rPV1|1|I|LD^%d^1^HOSTILE||||||||||||||||HV%d-%d^^^HOSTILE^VN|||||||||||||||||||||||||%s\rDG1|1||O14.13^Severe preeclampsia^I10||%s|A\r",
			stamp, h.n, i, stamp, h.n, i, 1+i%900, h.n, i, stamp, stamp)
	}
	return hostileBody{"hl7", "application/hl7-v2", b.String()}
}

// calmPartners creates n hospitals on a svc dev, each with a key.
func calmPartners(t testing.TB, d *dev, n int) (calm []*partner) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "calm.csv")
	text := "id,name,timezone,keys\n"
	for i := range n {
		text += fmt.Sprintf("calm-%d,Calm %d,America/Chicago,feed\n", i, i)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(cli(t, nil, "hospitals", "import", file, "--scopes", "all", "--data", d.dir)) {
		if cells := strings.Split(strings.TrimSpace(line), ","); strings.HasPrefix(cells[0], "calm-") {
			calm = append(calm, newPartner(d.BaseURL, cells[0], cells[3]))
		}
	}
	if len(calm) != n {
		t.Fatalf("%d of %d hospitals have a key", len(calm), n)
	}
	return calm
}

// TestHostileHospitalWaitsAlone: one hospital sends the largest bodies without a pause, with a key that has no rate
// limit. At least a third of these bodies must be refused with 429. Meanwhile, the writes of the other hospitals must
// be accepted and applied.
func TestHostileHospitalWaitsAlone(t *testing.T) {
	onlyInE2E(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	foe, calm := newPartner(d.BaseURL, d.HospitalID, d.APIKey), calmPartners(t, d, 3)
	for _, p := range append(calm, foe) {
		eventually(t, time.Minute, func() error { return appliedNow(p) })
	}
	var (
		sent    sync.WaitGroup
		mu      sync.Mutex
		bodies  hostile
		refused int
	)
	const each = 10
	for range 3 {
		sent.Go(func() {
			for range each {
				mu.Lock()
				body := bodies.next()
				mu.Unlock()
				a, err := foe.do(http.MethodPost, "/api/ingest/"+body.feed, body.contentType, body.text)
				switch {
				case err != nil:
					t.Error(err)
				case a.status == http.StatusTooManyRequests:
					if a.header.Get("Retry-After") == "" || len(a.Error.Details) != 1 {
						t.Errorf("%v %s", a.header, a.raw)
					}
					mu.Lock()
					refused++
					mu.Unlock()
				case a.status == http.StatusUnprocessableEntity: // the body exceeds the limits of a hospital
				case a.status != http.StatusOK:
					t.Errorf("%s: %d %s", body.feed, a.status, a.raw)
				}
			}
		})
	}
	for n := range 40 {
		path, body := request(rand.New(rand.NewPCG(3, uint64(n))), n%4, n/4)
		calm[n%len(calm)].accepted(t, path, body)
	}
	sent.Wait()
	if refused < each {
		t.Errorf("%d of %d of the largest bodies were refused", refused, 3*each)
	}
	eventually(t, time.Minute, func() error { return appliedNow(foe) })
}

// TestShareOnTwoInstances: a hospital's limit on facts per second does not grow with the number of instances that it
// sends to.
func TestShareOnTwoInstances(t *testing.T) {
	s := startSystem(t, "north")
	s.processor("p1")
	listen, private := "127.0.0.1:"+mustFreePort(t), "127.0.0.1:"+mustFreePort(t)
	second := start(t, "second", []string{"run", "ingest,read", "--listen", listen, "--private-listen", private}, s.env...)
	second.await("http://" + private + "/readyz?exclude=view&exclude=forecast&exclude=lists")
	instances := [2]*partner{s.partners[0], newPartner("http://"+listen, "north", s.partners[0].key)}
	for _, p := range instances {
		p.honored(t)
		eventually(t, time.Minute, func() error { return appliedNow(p) })
	}
	var bodies hostile
	began, events, refused := time.Now(), 0, [2]int{}
	for n := range 60 {
		body := bodies.batch(time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
		bodies.n++
		a, err := instances[n%2].do(http.MethodPost, "/api/ingest/batch", body.contentType, body.text)
		switch {
		case err != nil:
			t.Fatal(err)
		case a.status == http.StatusOK:
			events += 500
		case a.status == http.StatusTooManyRequests:
			refused[n%2]++
		default:
			t.Fatalf("%d %s", a.status, a.raw)
		}
	}
	// Each event counts as two facts.
	if most := limit.FactsAtOnce + limit.FactsPerSecond*(time.Since(began).Seconds()+1); float64(2*events) > most || events == 0 {
		t.Errorf("%d events were taken of at most %.0f", events, most/2)
	}
	if refused[0] == 0 || refused[1] == 0 {
		t.Errorf("refused: %v", refused)
	}
}

// TestRevokedKeyKeepsAcceptedWrites: a key is revoked while its hospital sends as fast as possible. Every acknowledged
// write is applied once. Writes after the revocation are refused. The writes of another hospital continue throughout.
func TestRevokedKeyKeepsAcceptedWrites(t *testing.T) {
	t.Parallel()
	s := startEmbedded(t, func(string) string { return "" }, "north", "south")
	s.processor("p1")
	for _, p := range s.partners {
		eventually(t, time.Minute, func() error { return appliedNow(p) })
	}
	foe := newPartner(s.base, "north", cli(t, s.env, "keys", "mint", "--hospital", "north", "--name", "foe", "--scopes", "ingest:batch,read:unit-state", "--rate", "0"))
	foe.honored(t)
	listed := items[struct{ ID, Name string }](t, cli(t, s.env, "keys", "list", "--hospital", "north", "--json"))
	id := listed[slices.IndexFunc(listed, func(k struct{ ID, Name string }) bool { return k.Name == "foe" })].ID
	var (
		sent   sync.WaitGroup
		mu     sync.Mutex
		acked  []acknowledged
		enough = make(chan struct{})
	)
	const each = 20 // acknowledged writes before the key is revoked
	for worker := range 3 {
		sent.Go(func() {
			for n := 0; ; n++ {
				body := `{"events":[` + joined(20, func(i int) string {
					return fmt.Sprintf(`{"eventId":"%d-%d-%d","eventType":"A01","occurredAt":%q,"visitId":"V%d-%d-%d","roomId":%d,"patientClass":"I"}`,
						worker, n, i, time.Now().UTC().Format(time.RFC3339), worker, n, i, 1+i)
				}) + `]}`
				a, err := foe.do(http.MethodPost, "/api/ingest/batch", "application/json", body, "Prefer", "respond-async")
				switch {
				case err != nil:
					t.Error(err)
					return
				case a.status == http.StatusUnauthorized:
					return
				case a.status == http.StatusTooManyRequests:
					continue
				case a.status != http.StatusOK:
					t.Errorf("%d %s", a.status, a.raw)
					return
				}
				var in ingested
				into(t, a.Data, &in)
				at, err := parsePosition(in.Position)
				if err != nil {
					t.Errorf("position %q", in.Position)
				}
				mu.Lock()
				if acked = append(acked, acknowledged{"north", "batch", at}); len(acked) == each {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	cli(t, s.env, "keys", "revoke", id)
	for n := range 20 {
		s.partners[1].accepted(t, "staffing", fmt.Sprintf(`{"nursesOnDuty":%d}`, 2+n%5))
	}
	sent.Wait()
	eventually(t, time.Minute, func() error { return appliedNow(s.partners[0]) })
	s.verify(acked)
}
