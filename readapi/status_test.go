package readapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/facts"
	"svc/internal/feeds"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/rules"
	"svc/readapi"
)

// fakeHealth is a pipeline in the state that a test sets.
type fakeHealth struct {
	feeds    []feeds.History
	pipeline readapi.Pipeline
	err      error
	notices  map[string][]feeds.Notice // by channel
}

func (s *fakeHealth) Feeds(context.Context, string) ([]feeds.History, error) { return s.feeds, s.err }

func (s *fakeHealth) Source(hospital, key string) (source, name string, ok bool) {
	return "key_9", "Epic ADT", hospital == "north" && (key == "key_9" || key == "key_10")
}

func (s *fakeHealth) Notices(_ context.Context, f feeds.Feed) (all feeds.Notices, err error) {
	for _, n := range s.notices[f.Channel] {
		switch {
		case n.Refused:
			all.Refused = append(all.Refused, n)
		case n.Routine:
			all.Routine = append(all.Routine, n)
		default:
			all.Warned = append(all.Warned, n)
		}
	}
	return all, s.err
}

func (s *fakeHealth) Pipeline(context.Context, string) (readapi.Pipeline, error) {
	return s.pipeline, s.err
}

// fakeSettings provides a hospital's records from memory. The encoded form of a record is its index in records.
type fakeSettings struct {
	records []facts.Record
	err     error
}

func (s *fakeSettings) LocalSettings(context.Context, string, bool) (map[string]string, error) {
	all := map[string]string{}
	for i := range s.records {
		all[strconv.Itoa(i)] = strconv.Itoa(i)
	}
	return all, s.err
}

func (s *fakeSettings) DecodeState(encoded string) (facts.Record, error) {
	i, err := strconv.Atoi(encoded)
	if err != nil {
		return nil, err
	}
	return s.records[i], nil
}

func (*fakeSettings) Hospital(string) (access.Hospital, bool) { return access.Hospital{}, false }

// someCodes returns three unmapped codes, which were received 14 times in total within 24 hours, and two other codes.
func someCodes() []facts.Record {
	hour := func(ago, count int32) []facts.HourCount {
		return []facts.HourCount{{Hour: noon.Hour() - ago, Count: count}}
	}
	return []facts.Record{
		&facts.CodeState{System: "local", Code: "A", Kind: catalogue.KindObservation, Hours: hour(1, 9)},
		&facts.CodeState{System: "local", Code: "B", Kind: catalogue.KindObservation, Hours: hour(25, 50)},
		&facts.CodeState{System: "local", Code: "C", Kind: catalogue.KindObservation, Hours: hour(0, 5)},
		&facts.MappingState{Mapping: acuity.Mapping{ID: "map-1", System: "local", Code: "C", Kind: catalogue.KindMedication}}, // does not apply to code C
		&facts.CodeState{System: "local", Code: "D", Kind: catalogue.KindObservation, Ignored: true, Hours: hour(1, 70)},
		&facts.CodeState{System: "local", Code: "EE", Kind: catalogue.KindObservation, Hours: hour(1, 90)},
		&facts.MappingState{Mapping: acuity.Mapping{ID: "map-2", System: "local", Code: "E*"}},
	}
}

// hourly returns a feed with one message per hour. ago is the age of the last message.
func hourly(now time.Time, ago time.Duration) feeds.History {
	h := feeds.History{Feed: feeds.Feed{Hospital: "north", Channel: "census", Source: "key_9"}, LastReceived: now.Add(-ago)}
	for n := range 20 {
		h.Buckets[feeds.DayWindow] = append(h.Buckets[feeds.DayWindow], feeds.Bucket{
			At: now.Add(-ago - time.Duration(n)*time.Hour), Gap: time.Hour, Counts: feeds.Counts{Received: 2, Applied: 1, Rejected: 1},
		})
	}
	return h
}

func TestStatus(t *testing.T) {
	now := noon.Time()
	well := func() *fakeHealth {
		return &fakeHealth{
			feeds: []feeds.History{hourly(now, time.Hour)},
			pipeline: readapi.Pipeline{
				Heartbeat: now.Add(-time.Second), Topics: []readapi.Topic{{Name: "t", Partitions: 3, Lag: 2, Oldest: now.Add(-2 * time.Second)}},
			},
		}
	}
	for name, tt := range map[string]struct {
		change  func(h *fixture, s *fakeHealth)
		status  string
		reasons []string
	}{
		"well":          {func(*fixture, *fakeHealth) {}, "ok", []string{}},
		"a silent feed": {func(_ *fixture, s *fakeHealth) { s.feeds = append(s.feeds, hourly(now, 4*time.Hour)) }, "stale", []string{"feed_stale"}},
		"settings that no one changes": {func(_ *fixture, s *fakeHealth) {
			for _, channel := range []string{"terminology", "rules", "locations", "settings"} {
				quiet := hourly(now, 4*time.Hour)
				quiet.Channel = channel
				s.feeds = append(s.feeds, quiet)
			}
		}, "ok", []string{}},
		"a silent processor": {func(_ *fixture, s *fakeHealth) { s.pipeline.Heartbeat = now.Add(-5001 * time.Millisecond) }, "down", []string{"processor_silent"}},
		"no processor ever":  {func(_ *fixture, s *fakeHealth) { s.pipeline.Heartbeat = time.Time{} }, "down", []string{"processor_silent"}},
		"behind":             {func(_ *fixture, s *fakeHealth) { s.pipeline.Topics[0].Oldest = now.Add(-2001 * time.Millisecond) }, "degraded", []string{"processing_behind"}},
		"dead letters":       {func(_ *fixture, s *fakeHealth) { s.pipeline.DeadLetters = 1 }, "degraded", []string{"dead_letters"}},
		"no space":           {func(_ *fixture, s *fakeHealth) { s.pipeline.LogFull = true }, "down", []string{"log_full"}},
		"no Kafka":           {func(_ *fixture, s *fakeHealth) { s.pipeline.LogAway = true }, "down", []string{"log_away"}},
		"no Redis": {func(h *fixture, s *fakeHealth) {
			h.err, s.err, h.settings.err = readapi.ErrAway, errors.New("x"), readapi.ErrAway
		}, "down", []string{"view_away"}},
		"a view behind":    {func(h *fixture, _ *fakeHealth) { h.err = readapi.ErrBehind }, "degraded", []string{"processing_behind"}},
		"a view made anew": {func(h *fixture, _ *fakeHealth) { h.err = readapi.ErrIncomplete }, "degraded", []string{"view_incomplete"}},
		"nothing yet":      {func(h *fixture, _ *fakeHealth) { h.err = readapi.ErrNoUnit }, "stale", []string{"nothing_recorded"}},
		"all at once": {func(_ *fixture, s *fakeHealth) {
			s.feeds = append(s.feeds, hourly(now, 4*time.Hour))
			s.pipeline = readapi.Pipeline{DeadLetters: 2, LogAway: true}
		}, "down", []string{"log_away", "processor_silent", "feed_stale", "dead_letters"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, s := newFixture(&acuity.Chart{Hospital: "north", Unit: acuity.UnitChart{
				Version: 7, Clock: noon - 5000, Since: noon - 9000, Unplaced: 2, UnknownLocations: 4, CancelsWaiting: 1,
			}, Rooms: []acuity.RoomChart{{ID: 1, Status: acuity.RoomOccupied}, {ID: 2, Status: acuity.RoomEmpty}}}), well()
			h.settings.records = someCodes()
			tt.change(h, s)
			*h.health = *s
			text := data(t, h.do(t, http.MethodGet, "/api/ingest/status", "Authorization", "Bearer svc_narrow"))
			var got struct {
				Status    string
				Reasons   []string
				UnitState struct{ Recorded *bool }
			}
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			if got.Status != tt.status || !slices.Equal(got.Reasons, tt.reasons) {
				t.Errorf("%s %q, want %s %q", got.Status, got.Reasons, tt.status, tt.reasons)
			}
			if known := h.err == nil || errors.Is(h.err, readapi.ErrNoUnit); (got.UnitState.Recorded != nil) != known {
				t.Errorf("%s", text)
			}
			if name == "well" && text != wellStatus {
				t.Errorf("got  %s\nwant %s", text, wellStatus)
			}
		})
	}
	h := newFixture(&acuity.Chart{Hospital: "north"})
	if r := h.get(t, "/api/ingest/status"); r.StatusCode != http.StatusForbidden {
		t.Errorf("without the scope: %d", r.StatusCode)
	}
}

const wellStatus = `{"status":"ok","reasons":[],` +
	`"feeds":[{"channel":"census","source":"key_9","sourceName":"Epic ADT","lastReceivedAt":"2031-04-05T11:00:00.000Z","lastAppliedAt":null,"lastEventAt":null,"expectedEverySeconds":3600,"stale":false,` +
	`"windows":{"1h":{"received":0,"applied":0,"duplicates":0,"ignored":0,"rejected":0,"warnings":0,"changed":0,"unchanged":0,"unused":0,"outsideUnit":0},"1m":{"received":0,"applied":0,"duplicates":0,"ignored":0,"rejected":0,"warnings":0,"changed":0,"unchanged":0,"unused":0,"outsideUnit":0},"24h":{"received":40,"applied":20,"duplicates":0,"ignored":0,"rejected":20,"warnings":0,"changed":0,"unchanged":0,"unused":0,"outsideUnit":0}}}],` +
	`"pipeline":{"topics":[{"name":"t","partitions":3,"lag":2,"oldestUnprocessedSeconds":2}],"processorHeartbeatAt":"2031-04-05T11:59:59.000Z","deadLetters":0},` +
	`"unitState":{"recorded":true,"version":7,"level":"green","asOf":"2031-04-05T11:59:51.000Z","ageSeconds":5,"roomsKnown":2,"roomsOccupied":1,"unplacedPatients":2,"cancelsWaiting":1},` +
	`"terminology":{"unmappedCodes":3,"unmappedHits24h":14,"unknownLocations":4}}`

// TestSourceStatus: the answer contains the feeds of one source, with their refusals, warnings and routine notices.
// It contains no feed of another source.
func TestSourceStatus(t *testing.T) {
	now := noon.Time()
	other := hourly(now, time.Hour)
	other.Source = "key_3"
	h := newFixture(&acuity.Chart{Hospital: "north"})
	*h.health = fakeHealth{feeds: []feeds.History{hourly(now, time.Hour), other}, notices: map[string][]feeds.Notice{"census": {
		{At: now.Add(-time.Second), Refused: true, ControlID: "M1", Code: "AE 101", Path: "PV1-19"},
		{At: now.Add(-time.Minute), RequestID: "r", Code: "unknown_field"},
		{At: now.Add(-time.Minute), Routine: true, ControlID: "M2", Code: "event_ignored", Path: "MSH-9", Event: "A05"},
	}}}
	ask := func(source string) (int, string) {
		r := h.do(t, http.MethodGet, "/api/ingest/status/"+source, "Authorization", "Bearer svc_narrow")
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(body)
	}
	const want = `"source":"key_9","sourceName":"Epic ADT","feeds":[{"channel":"census","source":"key_9","sourceName":"Epic ADT",`
	message := func(code string) string { return `,"message":"` + rules.Message(code) + `","eventType":null}` }
	notices := `"refusals":[{"at":"2031-04-05T11:59:59.000Z","controlId":"M1","requestId":null,"code":"AE 101","path":"PV1-19"` + message("AE 101") +
		`],"warnings":[{"at":"2031-04-05T11:59:00.000Z","controlId":null,"requestId":"r","code":"unknown_field","path":""` + message("unknown_field") +
		`],"routine":[{"at":"2031-04-05T11:59:00.000Z","controlId":"M2","requestId":null,"code":"event_ignored","path":"MSH-9"` +
		strings.Replace(message("event_ignored"), "null", `"A05"`, 1) + `]}]}`
	for _, source := range []string{"key_9", "key_10"} { // key ids before and after a rotation
		if status, text := ask(source); status != http.StatusOK || !strings.Contains(text, want) || !strings.Contains(text, notices) {
			t.Errorf("%s: %d %s", source, status, text)
		}
	}
	if status, text := ask("key_11"); status != http.StatusNotFound {
		t.Errorf("another source: %d %s", status, text)
	}
	h.health.err = errors.New("away")
	if status, text := ask("key_9"); status != http.StatusServiceUnavailable {
		t.Errorf("without Redis: %d %s", status, text)
	}
}

// TestStatusPage checks that docs/feeds.md lists every reason for a status.
func TestStatusPage(t *testing.T) {
	page, err := os.ReadFile("../docs/feeds.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| ([a-z]+) \\| `([a-z_]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		got = append(got, fmt.Sprint(row[2], " ", row[1]))
	}
	if want := readapi.StatusReasons(); !slices.Equal(got, want) {
		t.Errorf("the page has %s\nthe code     %s", strings.Join(got, ", "), strings.Join(want, ", "))
	}
}
