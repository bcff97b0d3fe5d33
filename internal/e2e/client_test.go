package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// partner is a client of one hospital.
type partner struct {
	base, hospital, key string
	http                *http.Client
	firstTry            bool // whether an accepted request must be applied at the first attempt
}

func newPartner(base, hospital, key string) *partner {
	return &partner{base: base, hospital: hospital, key: key, http: &http.Client{
		Timeout:   time.Minute, // long enough that a hanging request stands out by its duration
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
}

// answer is an API response in its envelope.
type answer struct {
	status int
	header http.Header
	raw    []byte
	took   time.Duration

	Protocol string
	OK       bool
	Data     json.RawMessage
	Meta     struct{ RequestID, GeneratedAt, HospitalID string }
	Error    struct {
		Code, Message, Docs string
		Details             []struct{ Path, Rule string }
	}
}

// refusedBy reports whether a read was refused for now, because of the given rule.
func (a *answer) refusedBy(rule string) bool {
	return a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "" && a.Error.Code == "internal" &&
		len(a.Error.Details) == 1 && a.Error.Details[0].Rule == rule
}

// ingested contains the fields that all ingest responses share.
type ingested struct {
	Applied            bool
	Outcome            *string
	Position           string
	Level              *string
	Activated, Expired []struct {
		RoomID   int32
		FactorID string
	}
	Warnings []struct{ Code, Path string }
}

func (p *partner) do(method, path, contentType, body string, headers ...string) (*answer, error) {
	request, err := http.NewRequest(method, p.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	if p.key != "" {
		request.Header.Set("Authorization", "Bearer "+p.key)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	watch := startWatch()
	response, err := p.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	a := &answer{status: response.StatusCode, header: response.Header}
	if a.raw, err = io.ReadAll(response.Body); err != nil {
		return nil, err
	}
	a.took = watch.elapsed()
	if len(a.raw) > 0 && response.Header.Get("Content-Type") == "application/json" {
		if err := json.Unmarshal(a.raw, a); err != nil {
			return nil, fmt.Errorf("%s %s: %w in %q", method, path, err, a.raw)
		}
	}
	return a, nil
}

// honored waits until the server accepts the partner's new key.
func (p *partner) honored(t testing.TB) {
	t.Helper()
	eventually(t, time.Minute, func() error {
		a, err := p.do(http.MethodGet, "/api/v1/level", "", "")
		if err == nil && a.status == http.StatusUnauthorized {
			err = fmt.Errorf("a key of %s is not honored yet", p.hospital)
		}
		return err
	})
}

// String formats an answer for test output.
func (a *answer) String() string {
	if a == nil {
		return "no answer"
	}
	return fmt.Sprintf("%d %s", a.status, a.raw)
}

func (p *partner) post(t testing.TB, feed, body string) *answer {
	t.Helper()
	a, err := p.do(http.MethodPost, "/api/ingest/"+feed, "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// accepted posts a body until it is applied, as [partner.sendUntilApplied] does.
func (p *partner) accepted(t testing.TB, feed, body string) ingested {
	t.Helper()
	a, once := p.sendUntilApplied(t, feed, body, "accepted-"+strconv.FormatInt(acceptedKeys.Add(1), 10))
	if p.firstTry && !once {
		t.Errorf("%s was not applied by the first request", feed)
	}
	if a.status != http.StatusOK || !a.OK || a.Meta.HospitalID != p.hospital {
		t.Fatalf("%s: %v", feed, a)
	}
	var in ingested
	into(t, a.Data, &in)
	return in
}

// acceptedKeys numbers the Idempotency-Keys that [partner.accepted] sends.
var acceptedKeys atomic.Int64

func (p *partner) get(t testing.TB, path string, headers ...string) *answer {
	t.Helper()
	a, err := p.do(http.MethodGet, path, "", "", headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// readUnit gets the state of the unit and retries after 503, because svc may lag on a slow machine.
func (p *partner) readUnit(t testing.TB) (a *answer) {
	const path = "/api/v1/unit-state"
	t.Helper()
	eventually(t, time.Minute, func() error {
		if a = p.get(t, path); a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "" {
			return fmt.Errorf("%s: %v", path, a)
		}
		return nil
	})
	return a
}

func into(t testing.TB, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
}

// unitState is the part of a unit-state response that the tests read.
type unitState struct {
	Level, DrivingAxis string
	RatioShortfall     int
	UnplacedPatients   int
	NursesRequired     float64
	Version            int64
	AsOf               time.Time
	Rooms              []struct {
		RoomID         int32
		RoomLabel      string
		Color, Status  string
		Score          int
		NursesRequired float64
		PrimaryFactor  *string
		Factors        []struct{ ID, Ratio string }
		NextChangeAt   *time.Time
	}
}

func (p *partner) unitState(t testing.TB) (u unitState) {
	t.Helper()
	a := p.readUnit(t)
	if a.status != http.StatusOK {
		t.Fatalf("unit-state: %v", a)
	}
	into(t, a.Data, &u)
	return u
}

// items returns the items of a list that a command printed with --json.
func items[T any](t testing.TB, text string) []T {
	t.Helper()
	var list struct{ Items []T }
	into(t, []byte(text), &list)
	return list.Items
}
