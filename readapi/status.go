package readapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"svc/acuity"
	"svc/internal/feeds"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
	"svc/internal/httpapi/rules"
)

// Health provides the data for a hospital's status: its feeds, their notices, and the pipeline.
type Health interface {
	// Feeds returns the counts for each feed.
	Feeds(ctx context.Context, hospital string) ([]feeds.History, error)
	// Source returns the lineage of a key and the name of the newest key in that lineage. It returns false if the
	// hospital has no such key.
	Source(hospital, key string) (source, name string, ok bool)
	// Notices returns the latest refusals and warnings for a feed, newest first.
	Notices(ctx context.Context, f feeds.Feed) (feeds.Notices, error)
	// Pipeline returns how much of the received input has been applied.
	Pipeline(ctx context.Context, hospital string) (Pipeline, error)
}

// Pipeline reports how much of the received input has been applied.
type Pipeline struct {
	Topics      []Topic
	Heartbeat   time.Time // heartbeat of the processor that serves the hospital; zero: no heartbeat yet
	DeadLetters int       // number of the hospital's dead letters that have not been retried
	LogAway     bool      // whether Kafka fails to respond, so that the lags are unknown
	LogFull     bool      // whether the disk of the log is full
}

// Topic is one topic of the pipeline.
type Topic struct {
	Name       string
	Partitions int32
	Lag        int64     // number of records in the hospital's partition that the view lacks
	Oldest     time.Time // when the oldest such record was received; zero: none, or unknown
}

// The statuses, best first.
const (
	statusOK       = "ok"
	statusDegraded = "degraded"
	statusStale    = "stale"
	statusDown     = "down"
)

// These reasons also appear in responses that refuse a read.
const (
	reasonAway       = "view_away"
	reasonIncomplete = "view_incomplete"
	reasonBehind     = "processing_behind"
)

// statusReasons lists the reasons why the status is not ok, each with the status that it causes.
var statusReasons = []struct{ reason, status string }{
	{reasonAway, statusDown},           // Redis does not respond, or its response is malformed
	{"log_away", statusDown},           // Kafka does not respond, so facts cannot be accepted
	{"log_full", statusDown},           // the disk of svc dev is full, so facts cannot be accepted
	{"processor_silent", statusDown},   // no processor has served the hospital for five seconds
	{"feed_stale", statusStale},        // a feed has been silent for much longer than usual
	{"nothing_recorded", statusStale},  // no record was ever applied
	{reasonIncomplete, statusDegraded}, // the view is being rebuilt
	{reasonBehind, statusDegraded},     // a record has been pending for more than two seconds, or the lag is unknown
	{"dead_letters", statusDegraded},   // some records could not be applied
}

// heartbeatWithin is the maximum age of the processor's heartbeat for the status ok; appliedWithin is the maximum age
// of the oldest pending record. Both are defaults of this project.
const (
	heartbeatWithin = 5 * time.Second
	appliedWithin   = 2 * time.Second
)

// statusAnswer is the data of GET /api/ingest/status.
type statusAnswer struct {
	Status      string            `json:"status"`
	Reasons     []string          `json:"reasons"`
	Feeds       []feedStatus      `json:"feeds"`
	Pipeline    pipelineStatus    `json:"pipeline"`
	UnitState   unitStatus        `json:"unitState"`
	Terminology terminologyStatus `json:"terminology"`
}

type feedStatus struct {
	Channel       string                `json:"channel"`
	Source        string                `json:"source"`
	SourceName    *string               `json:"sourceName"` // name of the key; null: the key no longer exists
	LastReceived  httpapi.Time          `json:"lastReceivedAt"`
	LastApplied   httpapi.Time          `json:"lastAppliedAt"`
	LastEvent     httpapi.Time          `json:"lastEventAt"`
	ExpectedEvery *int64                `json:"expectedEverySeconds"` // null: too little data so far
	Stale         bool                  `json:"stale"`
	Windows       map[string]feedCounts `json:"windows"`
}

type feedCounts struct {
	Received   int64 `json:"received"`
	Applied    int64 `json:"applied"`
	Duplicates int64 `json:"duplicates"`
	Ignored    int64 `json:"ignored"`
	Rejected   int64 `json:"rejected"`
	Warnings   int64 `json:"warnings"`
	Changed    int64 `json:"changed"`     // messages that changed something
	Unchanged  int64 `json:"unchanged"`   // messages that only repeated known or older information
	Unused     int64 `json:"unused"`      // facts that were not used, each with a warning
	Outside    int64 `json:"outsideUnit"` // messages that place a patient outside the unit; included in unused
}

type pipelineStatus struct {
	Topics      []topicStatus `json:"topics"`
	Heartbeat   httpapi.Time  `json:"processorHeartbeatAt"`
	DeadLetters int           `json:"deadLetters"`
}

type topicStatus struct {
	Name       string `json:"name"`
	Partitions int32  `json:"partitions"`
	Lag        int64  `json:"lag"`
	Oldest     int64  `json:"oldestUnprocessedSeconds"` // 0: no record is pending
}

// unitStatus describes the unit. A value that is unknown or missing is null.
type unitStatus struct {
	Recorded       *bool        `json:"recorded"`
	Version        *int64       `json:"version"`
	Level          *string      `json:"level"`
	AsOf           httpapi.Time `json:"asOf"`       // when the verdict took effect
	Age            *int64       `json:"ageSeconds"` // time since a record was last applied
	RoomsKnown     *int         `json:"roomsKnown"`
	RoomsOccupied  *int         `json:"roomsOccupied"`
	Unplaced       *int32       `json:"unplacedPatients"`
	CancelsWaiting *int32       `json:"cancelsWaiting"`
}

type terminologyStatus struct {
	UnmappedCodes    *int   `json:"unmappedCodes"`
	UnmappedHits     *int64 `json:"unmappedHits24h"`
	UnknownLocations *int32 `json:"unknownLocations"`
}

// serveStatus responds even if Redis or Kafka is unavailable, and reports what is unavailable.
func (s *Reads) serveStatus(w http.ResponseWriter, r *http.Request) {
	ctx, hospital, now := r.Context(), httpapi.Caller(r.Context()).Hospital, s.cfg.Shell.Now()
	a := statusAnswer{Status: statusOK, Reasons: []string{}, Feeds: []feedStatus{}}
	blame := func(when bool, reason string) {
		if when && !slices.Contains(a.Reasons, reason) {
			a.Reasons = append(a.Reasons, reason)
		}
	}
	away := func(err error) {
		if err != nil {
			s.cfg.Shell.Log.WarnContext(ctx, "status incomplete", "error", err)
			blame(true, reasonAway)
		}
	}

	p, err := s.cfg.Health.Pipeline(ctx, hospital)
	away(err)
	blame(p.LogAway, "log_away")
	blame(p.LogFull, "log_full")
	a.Pipeline = pipelineStatus{Topics: []topicStatus{}, Heartbeat: httpapi.Time(p.Heartbeat), DeadLetters: p.DeadLetters}
	for _, t := range p.Topics {
		waits := int64(0)
		if !t.Oldest.IsZero() {
			waits = seconds(now.Sub(t.Oldest))
		}
		blame(time.Duration(waits)*time.Second > appliedWithin, reasonBehind)
		a.Pipeline.Topics = append(a.Pipeline.Topics, topicStatus{t.Name, t.Partitions, t.Lag, waits})
	}
	blame(err == nil && now.Sub(p.Heartbeat) > heartbeatWithin, "processor_silent")
	blame(p.DeadLetters > 0, "dead_letters")

	all, err := s.listFeeds(ctx, hospital)
	away(err)
	for i := range all {
		a.Feeds = append(a.Feeds, s.feedOf(&all[i], now))
		blame(a.Feeds[i].Stale, "feed_stale")
	}

	j, err := s.current(ctx, hospital)
	switch recorded := err == nil; {
	case recorded:
		a.UnitState, a.Terminology.UnknownLocations = j.describeHealth(now), &j.head.UnknownLocations
		fallthrough
	case errors.Is(err, ErrNoUnit):
		a.UnitState.Recorded = &recorded
		blame(!recorded, "nothing_recorded")
		codes, hits, fault := s.countUnmapped(ctx, hospital)
		if away(fault); fault == nil {
			a.Terminology.UnmappedCodes, a.Terminology.UnmappedHits = &codes, &hits
		}
	case errors.Is(err, ErrBehind):
		blame(true, reasonBehind)
	case errors.Is(err, ErrIncomplete):
		blame(true, reasonIncomplete)
	default:
		away(err)
	}
	a.rank()
	w.Header().Set("Cache-Control", "no-store")
	httpapi.OK(w, r, a)
}

// rank sorts the reasons, worst first. The first one determines the status.
func (a *statusAnswer) rank() {
	var ranked []string
	for _, row := range statusReasons {
		if !slices.Contains(a.Reasons, row.reason) {
			continue
		}
		if len(ranked) == 0 {
			a.Status = row.status
		}
		ranked = append(ranked, row.reason)
	}
	if ranked != nil {
		a.Reasons = ranked
	}
}

func (s *Reads) feedOf(h *feeds.History, now time.Time) feedStatus {
	f := feedStatus{
		Channel: h.Channel, Source: h.Source,
		LastReceived: httpapi.Time(h.LastReceived), LastApplied: httpapi.Time(h.LastApplied), LastEvent: httpapi.Time(h.LastEvent),
		Stale: h.Stale(now), Windows: map[string]feedCounts{},
	}
	if _, name, ok := s.cfg.Health.Source(h.Hospital, h.Source); ok {
		f.SourceName = &name
	}
	if expected := h.Expected(now); expected > 0 {
		f.ExpectedEvery = new(seconds(expected))
	}
	for window, name := range []string{feeds.MinuteWindow: "1m", feeds.HourWindow: "1h", feeds.DayWindow: "24h"} {
		f.Windows[name] = feedCounts(h.Window(window, now))
	}
	return f
}

// describeHealth describes the unit for the status.
func (j *judgment) describeHealth(now time.Time) unitStatus {
	v := j.verdict
	level, age := v.Level.String(), seconds(now.Sub(j.head.Clock.Time()))
	known, occupied := len(j.rooms), 0
	for _, r := range j.rooms {
		if r.chart.Status == acuity.RoomOccupied {
			occupied++
		}
	}
	return unitStatus{
		Version: &j.head.Version, Level: &level, AsOf: httpapi.Time(v.AsOf.Time()), Age: &age,
		RoomsKnown: &known, RoomsOccupied: &occupied,
		Unplaced: &j.head.Unplaced, CancelsWaiting: &j.head.CancelsWaiting,
	}
}

// seconds rounds a duration up to whole seconds. A negative duration, which a slow clock can cause, gives 0.
func seconds(d time.Duration) int64 { return int64(max(d+time.Second-1, 0) / time.Second) }

func sourceRoutes() []contract.Route[*Reads] {
	return []contract.Route[*Reads]{{Operation: contract.Operation{
		Method: http.MethodGet, Path: "/api/ingest/status/{source}", Scope: access.ReadStatus, ID: "getSourceStatus", Group: "Feeds",
		Summary: "List the refusals and warnings of one source",
		About: "The newest 100 refusals, 100 warnings and 100 routine warnings of each feed of the source, " +
			"with the control id of the HL7 message, the request id, the code and the place. " +
			"Values are never included. A control id that could contain more than a message number is replaced by a keyed pseudonym.",
		Parameters: []contract.Parameter{{
			Name: "source", In: "path", Example: "key_0123456789abcdef",
			About: "Source from GET /api/ingest/status: the id of an API key, or of a key in its rotation chain.",
		}},
		Refuses: []problem.Kind{problem.Missing}, Data: sourceStatus{},
	}, Serve: (*Reads).serveSourceStatus}}
}

// sourceStatus is the data of GET /api/ingest/status/{source}.
type sourceStatus struct {
	Source     string       `json:"source"`
	SourceName string       `json:"sourceName"` // name of the key
	Feeds      []sourceFeed `json:"feeds"`
}

type sourceFeed struct {
	feedStatus
	Refusals []notice `json:"refusals"` // newest first
	Warnings []notice `json:"warnings"` // newest first
	Routine  []notice `json:"routine"`  // events without effect and patients outside the unit, newest first
}

// notice is a rule that a message or body broke, or a warning about a message or body.
type notice struct {
	At        httpapi.Time `json:"at"`
	ControlID *string      `json:"controlId"` // MSH-10 of the HL7 message, or its pseudonym; null: none
	RequestID *string      `json:"requestId"` // id of the HTTP request; null for MLLP or if the sender chose the id
	Code      string       `json:"code"`
	Path      string       `json:"path"`      // position in the message or body
	Message   string       `json:"message"`   // what was found and what to do
	EventType *string      `json:"eventType"` // event type, such as A05, of an HL7 message without effect; null: any other notice
}

// listFeeds returns the counts for each feed of a hospital. It omits the channels of settings that administrators
// change: settings arrive irregularly, so silence on these channels is not a fault.
func (s *Reads) listFeeds(ctx context.Context, hospital string) ([]feeds.History, error) {
	all, err := s.cfg.Health.Feeds(ctx, hospital)
	return slices.DeleteFunc(all, func(h feeds.History) bool { return acuity.Channel(h.Channel).IsSetting() }), err
}

// serveSourceStatus returns the status of one source. All its data is in Redis.
func (s *Reads) serveSourceStatus(w http.ResponseWriter, r *http.Request) {
	ctx, hospital, now := r.Context(), httpapi.Caller(r.Context()).Hospital, s.cfg.Shell.Now()
	source, name, ok := s.cfg.Health.Source(hospital, httpapi.PathValue(r, "source"))
	if !ok {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Missing, Message: "The hospital has no key with this id."})
		return
	}
	a := sourceStatus{Source: source, SourceName: name, Feeds: []sourceFeed{}}
	all, err := s.listFeeds(ctx, hospital)
	for i := range all {
		if all[i].Source != source || err != nil {
			continue
		}
		feed := sourceFeed{feedStatus: s.feedOf(&all[i], now)}
		var found feeds.Notices
		found, err = s.cfg.Health.Notices(ctx, all[i].Feed)
		feed.Refusals, feed.Warnings, feed.Routine = notices(found.Refused), notices(found.Warned), notices(found.Routine)
		a.Feeds = append(a.Feeds, feed)
	}
	if err != nil {
		s.cfg.Shell.Log.WarnContext(ctx, "notices not read", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable, RetryAfter: retryAfter})
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	httpapi.OK(w, r, a)
}

func notices(all []feeds.Notice) []notice {
	list := make([]notice, len(all))
	for i, n := range all {
		list[i] = notice{httpapi.Time(n.At), some(n.ControlID), some(n.RequestID), n.Code, n.Path, rules.Message(n.Code), some(n.Event)}
	}
	return list
}
