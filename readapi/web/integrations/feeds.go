package integrations

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/readapi/web/page"
)

const statusAPI = "/api/ingest/status"

func feedsSection() *section {
	return &section{
		name: "feeds", counts: true,
		shows: map[string]handler{
			"": {serve: showFeeds}, "/connect": {serve: showConnect}, "/letters": {serve: showDeadLetters}, "/sources/{id}": {serve: showSource},
		},
		acts: map[string]handler{"/letters": {serve: retryDeadLetters}, "/letters/{id}": {serve: retryDeadLetter}},
	}
}

// apiFeed is a feed in an API response.
type apiFeed struct {
	Channel, Source      string
	SourceName           *string
	LastReceivedAt       *time.Time
	LastAppliedAt        *time.Time
	LastEventAt          *time.Time
	ExpectedEverySeconds *int64
	Stale                bool
	Windows              map[string]apiCounts

	Refusals, Warnings, Routine []apiNotice // set only in the status of a single source
}

type apiCounts struct {
	Received, Applied, Duplicates, Ignored, Rejected, Warnings int64
	Changed, Unchanged, Unused, OutsideUnit                    int64
}

type apiNotice struct {
	At                   *time.Time
	ControlID, RequestID *string
	Code, Path           string
	EventType            *string
}

// apiStatus is the state of a hospital's feeds in an API response.
type apiStatus struct {
	Status   string
	Reasons  []string
	Feeds    []apiFeed
	Pipeline struct {
		Topics []struct {
			Name                          string
			Lag, OldestUnprocessedSeconds int64
		}
		ProcessorHeartbeatAt *time.Time
		DeadLetters          int
	}
	UnitState struct {
		AgeSeconds                       *int64
		UnplacedPatients, CancelsWaiting *int32
	}
	Terminology struct {
		UnmappedCodes    *int
		UnmappedHits24h  *int64
		UnknownLocations *int32
	}
}

// isUnknown reports whether the stored data about the feeds cannot be read. The list of feeds is then empty.
func (s *apiStatus) isUnknown() bool { return slices.Contains(s.Reasons, "view_away") }

// feedsPage shows the state of a hospital's feeds.
type feedsPage struct {
	adminPage
	Status   string
	Reasons  []string
	Rows     []feedLine
	Unknown  bool // whether the stored data about the feeds cannot be read
	Pipeline []pipelineRow
	Facts    []factRow
}

type feedLine struct {
	Name, Source, Link       string
	Received, Applied, Event string
	Every                    string
	Rhythm                   bool // whether the usual interval is known, without which no feed is late or stale
	Late, Stale              bool
	Windows                  []windowRow
}

// windowRow counts what a feed sent within the last minute, hour or day.
type windowRow struct {
	Name string
	apiCounts
}

type pipelineRow struct {
	Topic, Oldest string
	Lag           int64
	Late          bool
}

type factRow struct{ Name, Value, Link string }

// topicLate is an age in seconds. The page marks a topic as late if its oldest unprocessed record is older.
const topicLate = 2

func showFeeds(d *adminRequest) {
	var s apiStatus
	if _, ok := d.read(statusAPI, &s); !ok {
		return
	}
	out := feedsPage{adminPage: d.newPage("int.feeds"), Status: d.Or("feeds.status."+s.Status, s.Status)}
	out.Act = &adminLink{Name: d.T("feeds.connect"), Path: d.pathTo("connect")}
	out.Poll, out.Refresh = feedsPoll, page.RefreshSeconds
	for _, reason := range s.Reasons {
		out.Reasons = append(out.Reasons, d.Or("feeds.reason."+strings.ReplaceAll(reason, "_", ""), reason))
	}
	if len(s.Reasons) > 0 && s.Reasons[0] == "nothing_recorded" { // no feed is reported as stopped, because no feed has ever sent anything
		out.Status, out.Reasons = out.Reasons[0], out.Reasons[1:]
	}
	for i := range s.Feeds {
		out.Rows = append(out.Rows, newFeedLine(d, &s.Feeds[i]))
	}
	if s.Status == "ok" {
		out.Status = judgeFeeds(d, out.Rows)
	}
	slices.SortStableFunc(out.Rows, func(a, b feedLine) int {
		return cmp.Or(cmp.Compare(b.rank(), a.rank()), strings.Compare(a.Name, b.Name), strings.Compare(a.Source, b.Source))
	})
	for _, t := range s.Pipeline.Topics {
		row := pipelineRow{Topic: t.Name, Lag: t.Lag, Late: t.OldestUnprocessedSeconds > topicLate}
		if t.OldestUnprocessedSeconds > 0 {
			row.Oldest = d.FormatAge(time.Duration(t.OldestUnprocessedSeconds) * time.Second)
		}
		out.Pipeline = append(out.Pipeline, row)
	}
	out.Facts, out.Unknown = listFacts(d, &s), s.isUnknown()
	d.show("feeds.list", &out)
}

// judgeFeeds returns what is known about feeds of which none is stale: whether any is late, and how many cannot be
// judged. It returns "" if there are none.
func judgeFeeds(d *adminRequest, rows []feedLine) string {
	late, unknown := 0, 0
	for i := range rows {
		if rows[i].Late {
			late++
		}
		if !rows[i].Rhythm {
			unknown++
		}
	}
	var says []string
	switch {
	case late > 0:
		says = append(says, d.T("feeds.late", "n", late))
	case unknown < len(rows):
		says = append(says, d.T("feeds.status.ok"))
	}
	if unknown > 0 {
		says = append(says, d.T("feeds.unjudged", "n", unknown))
	}
	return strings.Join(says, " ")
}

// feedsPoll is the refresh interval of the feeds page, in seconds.
const feedsPoll = 10

func (l *feedLine) rank() int {
	switch {
	case l.Stale:
		return 2
	case l.Late:
		return 1
	}
	return 0
}

func newFeedLine(d *adminRequest, f *apiFeed) feedLine {
	line := feedLine{
		Name: d.Or("feed."+f.Channel, f.Channel), Source: f.Source, Link: d.pathTo("sources", f.Source), Stale: f.Stale,
		Received: d.formatSince(f.LastReceivedAt), Applied: d.formatSince(f.LastAppliedAt), Event: d.formatSince(f.LastEventAt),
		Every: d.T("feeds.norhythm"),
	}
	switch {
	case f.Source == access.PagesSource: // only the source of a key has a page
		line.Source, line.Link = d.T("feeds.source.pages"), ""
	case f.SourceName != nil:
		line.Source = *f.SourceName
	}
	if f.ExpectedEverySeconds != nil {
		every := time.Duration(*f.ExpectedEverySeconds) * time.Second
		line.Every, line.Rhythm = d.T("feeds.every", "age", d.FormatAge(every)), true
		line.Late = f.LastReceivedAt != nil && d.now().Sub(*f.LastReceivedAt) > every
	}
	for _, w := range []struct{ name, text string }{{"1m", d.T("feeds.minute")}, {"1h", d.T("feeds.hour")}, {"24h", d.T("feeds.day")}} {
		line.Windows = append(line.Windows, windowRow{w.text, f.Windows[w.name]})
	}
	return line
}

// listFacts returns the nonzero counts in a status, with links to the pages about them, and the age of the
// processor's heartbeat.
func listFacts(d *adminRequest, s *apiStatus) (facts []factRow) {
	add := func(name string, value int64, link string) {
		if value > 0 {
			facts = append(facts, factRow{name, strconv.FormatInt(value, 10), link})
		}
	}
	root := d.session.Base + rootPath
	if t := &s.Terminology; t.UnmappedCodes != nil {
		add(d.T("feeds.unmapped"), int64(*t.UnmappedCodes), root+"/terminology")
	}
	if n := s.Terminology.UnknownLocations; n != nil {
		add(d.T("feeds.unknown"), int64(*n), root+"/terminology/locations")
	}
	if n := s.UnitState.UnplacedPatients; n != nil {
		add(d.T("feeds.unplaced"), int64(*n), "")
	}
	if n := s.UnitState.CancelsWaiting; n != nil {
		add(d.T("feeds.cancels"), int64(*n), "")
	}
	add(d.T("feeds.letters"), int64(s.Pipeline.DeadLetters), d.pathTo("letters"))
	if at := s.Pipeline.ProcessorHeartbeatAt; at != nil {
		facts = append(facts, factRow{d.T("feeds.heartbeat"), d.formatSince(at), ""})
	}
	return facts
}

// sourcePage shows the messages from one source, with their errors.
type sourcePage struct {
	adminPage
	Feeds []sourceFeed
}

type sourceFeed struct {
	feedLine
	Refusals, Warnings, Routine []noticeRow
}

type noticeRow struct{ At, ControlID, RequestID, Code, Means, Path, EventType string }

func showSource(d *adminRequest) {
	var s struct {
		Source, SourceName string
		Feeds              []apiFeed
	}
	if _, ok := d.read(statusAPI+"/"+url.PathEscape(d.pathID()), &s); !ok {
		return
	}
	out := sourcePage{adminPage: d.newPage("feeds.source")}
	out.Heading = d.T("feeds.source.of", "name", s.SourceName)
	for i := range s.Feeds {
		f := &s.Feeds[i]
		out.Feeds = append(out.Feeds, sourceFeed{
			newFeedLine(d, f), listNotices(d, f.Refusals), listNotices(d, f.Warnings), listNotices(d, f.Routine),
		})
	}
	d.show("feeds.source", &out)
}

func listNotices(d *adminRequest, all []apiNotice) (rows []noticeRow) {
	for i := range all {
		n := &all[i]
		control, request := textOrEmpty(n.ControlID), textOrEmpty(n.RequestID)
		rows = append(rows, noticeRow{d.formatTime(n.At), control, request, n.Code, d.ExplainNotice(n.Code), n.Path, textOrEmpty(n.EventType)})
	}
	return rows
}

// connectPage shows an engineer how to connect each feed.
type connectPage struct {
	adminPage
	Feeds []connectFeed
	MLLP  string // instructions for sending over MLLP
	At    string // address at which this process listens for MLLP; "": another process listens
}

// connectFeed contains the address, the headers and a sample message of one feed. The API accepts the sample as
// displayed.
type connectFeed struct {
	ID, Name, Scope string
	Address, Header string
	Type, Sample    string
	Curl            string
}

const (
	textHL7  = "text/plain"
	mllpFlag = "svc ingest --mllp 'addr=:2575,key=key_0123456789abcdef'"
)

func showConnect(d *adminRequest) {
	out := connectPage{adminPage: d.newPage("feeds.connect"), MLLP: mllpFlag, At: d.Administration.MLLP}
	address := d.apiAddress()
	for i := range d.Administration.Operations {
		o := &d.Administration.Operations[i]
		name, feed := strings.CutPrefix(o.Path, "/api/ingest/")
		if feed && o.Method == http.MethodPost && !strings.Contains(name, "/") && len(o.Bodies) > 0 && len(o.Bodies[0].Examples) > 0 {
			out.Feeds = append(out.Feeds, newConnectFeed(d, address, name, o))
		}
	}
	d.show("feeds.connect", &out)
}

func newConnectFeed(d *adminRequest, address, name string, o *contract.Operation) connectFeed {
	b := &o.Bodies[0]
	sample := b.Examples[0].Text
	if b.Type == textHL7 { // show one segment per line, which the API also accepts
		sample = strings.TrimSuffix(strings.ReplaceAll(sample, "\r", "\n"), "\n")
	}
	f := connectFeed{
		ID: name, Name: d.Or("feed."+name, name), Scope: string(o.Scope), Type: "Content-Type: " + b.Type, Sample: sample,
		Address: o.Method + " " + address + o.Path, Header: "Authorization: Bearer $KEY",
	}
	f.Curl = "curl " + quoteWord(address+o.Path) + ` -H "` + f.Header + `" -H ` + quoteWord(f.Type) +
		" --data-binary " + quoteWord(sample)
	return f
}
