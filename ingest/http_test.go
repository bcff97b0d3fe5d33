package ingest_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/ingest"
	explained "svc/internal/httpapi/rules"
)

func pack(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// pad extends a body to n bytes with a text field that gzip compresses to about a sixth. The text
// is binary noise that repeats only beyond the window of gzip.
func pad(body string, n int) string {
	var noise strings.Builder
	state := uint32(1)
	for noise.Len() < 1<<16 {
		state = state*1664525 + 1013904223
		noise.WriteString(strconv.FormatUint(uint64(state>>8|1<<24), 2))
	}
	fill := n - len(body) - len(`,"pad":""`)
	text := strings.Repeat(noise.String(), fill/noise.Len()+1)[:fill]
	return strings.TrimSuffix(body, "}") + `,"pad":"` + text + `"}`
}

var paths = []string{"adt", "batch", "census", "clinical", "fhir", "hl7", "roster", "staffing"}

func TestRefusalsOfEveryPath(t *testing.T) {
	const gz = "gzip"
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			limit := 1 << 20
			switch path {
			case "batch":
				limit = 8 << 20
			case "fhir":
				limit = 16 << 20
			}
			huge := pack(t, pad("{}", 4*limit+1))
			if len(huge) > limit || len(huge)*50 < 4*limit {
				t.Fatal("what is packed does not test the unpacked size")
			}
			for name, test := range map[string]struct {
				body   string
				header []string
				status int
				detail string
			}{
				"no body":             {"", nil, 400, "json"},
				"not JSON":            {`{"roomId":`, nil, 400, "roomId json"},
				"two texts":           {`{} {}`, nil, 400, "json"},
				"trailing comma":      {`{"a":1,}`, nil, 400, "a json"},
				"not UTF-8":           {"{\"a\":\"\xff\"}", nil, 400, "a utf-8"},
				"too deep":            {`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, nil, 400, "a" + strings.Repeat("[0]", 11) + " depth:64"},
				"far too deep":        {strings.Repeat("[", 1<<19), nil, 400, strings.Repeat("[0]", 12) + " depth:64"},
				"too large":           {strings.Repeat(" ", limit+1), nil, 413, ""},
				"too large unpacked":  {huge, []string{"Content-Encoding", gz}, 413, ""},
				"gzip bomb":           {pack(t, strings.Repeat(" ", limit)), []string{"Content-Encoding", gz}, 413, ""},
				"not gzip":            {`{}`, []string{"Content-Encoding", gz}, 400, "gzip"},
				"gzip cut short":      {pack(t, pad("{}", 20000))[:500], []string{"Content-Encoding", gz}, 400, "gzip"},
				"unknown encoding":    {`{}`, []string{"Content-Encoding", "br"}, 415, ""},
				"two encodings":       {`{}`, []string{"Content-Encoding", "gzip, gzip"}, 415, ""},
				"content type":        {`{}`, []string{"Content-Type", "application/xml"}, 415, ""},
				"broken content type": {`{}`, []string{"Content-Type", ";"}, 415, ""},
				"charset":             {`{}`, []string{"Content-Type", "application/json; charset=utf-16"}, 415, ""},
			} {
				t.Run(name, func(t *testing.T) {
					d := open(t)
					d.wantRefused(t, d.post(t, path, test.body, test.header...), test.status, "invalid_request", test.detail)
				})
			}
			t.Run("too large without a length", func(t *testing.T) {
				d := open(t)
				r := request(path, strings.NewReader(strings.Repeat(" ", limit+1)))
				r.ContentLength = -1
				d.wantRefused(t, d.do(t, r), http.StatusRequestEntityTooLarge, "invalid_request", "")
			})
			t.Run("no key", func(t *testing.T) {
				d := open(t)
				d.wantRefused(t, d.post(t, path, "{}", "Authorization", ""), http.StatusUnauthorized, "unauthorized", "")
			})
			t.Run("key without the scope", func(t *testing.T) {
				d := open(t)
				a := d.post(t, path, "{}", "Authorization", "Bearer "+narrow)
				d.wantRefused(t, a, http.StatusForbidden, "forbidden_scope", "")
				if !strings.Contains(a.Error.Message, "ingest:"+path) {
					t.Error(a.Error.Message)
				}
			})
			t.Run("method", func(t *testing.T) {
				d := open(t)
				w := httptest.NewRecorder()
				d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/ingest/"+path, nil))
				if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST, OPTIONS" {
					t.Error(w.Code, w.Header())
				}
			})
		})
	}
	t.Run("unknown path", func(t *testing.T) {
		d := open(t)
		d.wantRefused(t, d.post(t, "nothing", "{}"), http.StatusNotFound, "not_found", "")
	})
}

func TestBodiesThatAreTaken(t *testing.T) {
	for name, test := range map[string]struct {
		body   string
		header []string
	}{
		"gzip":            {pack(t, staffingBody), []string{"Content-Encoding", "gzip"}},
		"x-gzip":          {pack(t, staffingBody), []string{"Content-Encoding", "X-Gzip"}},
		"identity":        {staffingBody, []string{"Content-Encoding", "identity"}},
		"large unpacked":  {pack(t, pad(staffingBody, 3<<20)), []string{"Content-Encoding", "gzip"}},
		"just within":     {pad(staffingBody, 1<<20), nil},
		"64 deep":         {strings.TrimSuffix(staffingBody, "}") + `,"x":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, nil},
		"no content type": {staffingBody, []string{"Content-Type", ""}},
		"with charset":    {staffingBody, []string{"Content-Type", "Application/JSON; charset=UTF-8"}},
		"white space":     {"\r\n\t " + strings.ReplaceAll(staffingBody, ",", " ,\n") + " \n", nil},
		"escaped names":   {strings.Replace(staffingBody, "nursesOnDuty", `\u006eursesOnDuty`, 1), nil},
		"brackets quoted": {strings.TrimSuffix(staffingBody, "}") + `,"x":"]}\"\\"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			if o := d.wantApplied(t, d.post(t, "staffing", test.body, test.header...)); o.Staffing == nil || o.Staffing.Nurses != 6 || o.Staffing.Call != acuity.Yes {
				t.Errorf("%+v", o.Staffing)
			}
		})
	}
}

// TestWhatBecomesOfAnObservation: the response of every feed states what became of the observation, for example that
// it was applied, is pending, or could not be appended to the log.
func TestWhatBecomesOfAnObservation(t *testing.T) {
	bodies := map[string]string{
		"adt": adtBody, "census": censusBody, "clinical": clinicalBody, "roster": rosterBody, "staffing": staffingBody,
		"batch": `{"events":[` + adtBody + `]}`, "fhir": fhirBody, "hl7": `{"message":"` + strings.ReplaceAll(strings.ReplaceAll(admission, `\`, `\\`), "\r", `\r`) + `"}`,
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			t.Run("applied", func(t *testing.T) {
				d := open(t)
				a := d.post(t, path, bodies[path])
				d.wantApplied(t, a)
				if !a.Data.Applied || *a.Data.Outcome != "applied" || *a.Data.Position != "2:0" || *a.Data.Level != "yellow" {
					t.Error(a.raw)
				}
				if len(d.viewed) != 1 || a.Meta.HospitalID != "stmary" || a.Meta.RequestID == "" {
					t.Error(d.viewed, a.raw)
				}
				for _, list := range []string{"activated", "expired", "unmapped", "warnings"} {
					if !strings.Contains(a.raw, `"`+list+`":[`) {
						t.Errorf("%s is no list: %s", list, a.raw)
					}
				}
			})
			t.Run("pending", func(t *testing.T) {
				d := open(t)
				d.pending = true
				a := d.post(t, path, bodies[path])
				d.wantApplied(t, a)
				if a.Data.Applied || a.Data.Outcome != nil || *a.Data.Position != "2:0" || a.Data.Level != nil || len(d.viewed) != 0 {
					t.Error(a.raw)
				}
			})
			t.Run("not waited for", func(t *testing.T) {
				d := open(t)
				a := d.post(t, path, bodies[path], "Prefer", "wait=5, Respond-Async; x=1")
				d.wantApplied(t, a)
				if a.Data.Applied || a.Data.Outcome != nil || *a.Data.Position != "2:0" || len(d.viewed) != 0 || a.header.Get("Preference-Applied") != "respond-async" {
					t.Error(a.raw, a.header)
				}
			})
			t.Run("away", func(t *testing.T) {
				d := open(t)
				d.fail = fmt.Errorf("produce: %w", ingest.ErrAway)
				a := d.post(t, path, bodies[path])
				d.wantRefused(t, a, http.StatusServiceUnavailable, "internal", "")
				if a.header.Get("Retry-After") == "" {
					t.Error("no Retry-After")
				}
			})
			t.Run("unknown fault of the log", func(t *testing.T) {
				d := open(t)
				d.fail = errors.New("boom")
				d.wantRefused(t, d.post(t, path, bodies[path]), http.StatusServiceUnavailable, "internal", "")
			})
			t.Run("too large for the log", func(t *testing.T) {
				d := open(t)
				d.fail = ingest.ErrTooLarge
				d.wantRefused(t, d.post(t, path, bodies[path]), http.StatusRequestEntityTooLarge, "invalid_request", "")
			})
			t.Run("rejected", func(t *testing.T) {
				d := open(t)
				d.change = func(*acuity.Observation) acuity.Change {
					return acuity.Change{Outcome: acuity.Rejected, Reason: "poison"}
				}
				if a := d.post(t, path, bodies[path]); a.status != http.StatusInternalServerError || a.Error.Code != "internal" {
					t.Error(a.raw)
				}
			})
			t.Run("duplicate", func(t *testing.T) {
				d := open(t)
				d.change = func(o *acuity.Observation) acuity.Change {
					c := applyAll(o)
					c.Outcome = acuity.Duplicate
					return c
				}
				if a := d.post(t, path, bodies[path]); !a.Data.Applied || *a.Data.Outcome != "duplicate" {
					t.Error(a.raw)
				}
			})
		})
	}
}

// TestAnswerLists: the lists in the answer are those in the change.
func TestAnswerLists(t *testing.T) {
	d := open(t)
	mag, _ := catalogue.FactorByID("high-mag")
	d.change = func(o *acuity.Observation) acuity.Change {
		c := applyAll(o)
		c.Activated = []acuity.FactorChange{{RoomID: 4, RoomLabel: "LDR04", Factor: mag, Ratio: "1:1", Since: acuity.At(now), Kind: acuity.BySignal}}
		c.Expired = []acuity.FactorChange{{RoomID: 5, Factor: mag, Kind: acuity.ByCensus}}
		c.Active = []catalogue.Factor{mag}
		c.Unmapped = []acuity.Unmapped{{System: codes.SystemLocal, Code: "X", Display: "y"}}
		c.Warnings = []acuity.Warning{{Code: "room_not_occupied"}, {Code: "status_unknown", Path: "signals[0].status"}}
		return c
	}
	a := d.post(t, "clinical", mutate(clinicalBody, "signals[0].status", `"odd"`))
	for _, want := range []string{
		`"activated":[{"roomId":4,"roomLabel":"LDR04","factorId":"high-mag","label":"Magnesium sulfate infusion","ratio":"1:1","since":"2026-03-04T15:30:00.000Z","evidence":"signal"}]`,
		`"expired":[{"roomId":5,"roomLabel":"","factorId":"high-mag","label":"Magnesium sulfate infusion","ratio":null,"since":null,"evidence":"census"}]`,
		`"unmapped":[{"system":"local","code":"X","display":"y"}]`,
		`"warnings":[{"code":"status_unknown","path":"signals[0].status","message":"` + explained.Message("status_unknown") +
			`"},{"code":"room_not_occupied","message":"` + explained.Message("room_not_occupied") + `"}]`,
		`"roomId":4,"roomLabel":"LDR04","received":1,"active":["high-mag"]`,
	} {
		if !strings.Contains(a.raw, want) {
			t.Errorf("no %s in %s", want, a.raw)
		}
	}
}
