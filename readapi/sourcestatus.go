package readapi

import (
	"net/http"

	"svc/internal/feeds"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
)

func sourceRoutes() []httpapi.Route[*server] {
	return []httpapi.Route[*server]{{Operation: httpapi.Operation{
		Method: http.MethodGet, Path: "/api/ingest/status/{source}", Scope: access.ReadStatus, ID: "getSourceStatus", Group: "Feeds",
		Summary: "What one source sent, which of it was refused, and which was taken with a warning",
		About: "The newest 100 refusals and the newest 100 warnings of each feed of the source, with the control id of the HL7 message, the id of the request, the code and the place. " +
			"None tells a value. A control id that may be more than a number of the message is told by a keyed pseudonym.",
		Parameters: []httpapi.Parameter{{Name: "source", In: "path", Example: "key_0123456789abcdef", About: "As GET /api/ingest/status names it: the id of the API key, or of one that it was rotated from or to."}},
		Refuses:    []httpapi.Kind{httpapi.Missing}, Data: sourceStatus{},
	}, Serve: (*server).sourceStatus}}
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
}

// notice names one rule that a message or body broke, or one warning about it.
type notice struct {
	At        httpapi.Time `json:"at"`
	ControlID *string      `json:"controlId"` // MSH-10 of the HL7 message, or its pseudonym; null: it has none
	RequestID *string      `json:"requestId"` // id of the HTTP request; null: it came by MLLP, or its sender made the id up
	Code      string       `json:"code"`
	Path      string       `json:"path"` // where in the message or body
}

// sourceStatus answers for one source. Its data is only in Redis.
func (s *server) sourceStatus(w http.ResponseWriter, r *http.Request) {
	ctx, hospital, now := r.Context(), httpapi.Caller(r.Context()).Hospital, s.shell.Now()
	source, name, ok := s.health.Source(hospital, httpapi.PathValue(r, "source"))
	if !ok {
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Missing, Message: "The hospital has no key of this id."})
		return
	}
	a := sourceStatus{Source: source, SourceName: name, Feeds: []sourceFeed{}}
	all, err := s.health.Feeds(ctx, hospital)
	for i := range all {
		if all[i].Source != source || err != nil {
			continue
		}
		feed := sourceFeed{feedStatus: s.feedOf(&all[i], now)}
		var refusals, warnings []feeds.Notice
		refusals, warnings, err = s.health.Notices(ctx, all[i].Feed)
		feed.Refusals, feed.Warnings = notices(refusals), notices(warnings)
		a.Feeds = append(a.Feeds, feed)
	}
	if err != nil {
		s.shell.Log.WarnContext(ctx, "notices not read", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Unavailable, RetryAfter: retryAfter})
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	httpapi.OK(w, r, a)
}

func notices(all []feeds.Notice) []notice {
	list := make([]notice, len(all))
	for i, n := range all {
		list[i] = notice{At: httpapi.Time(n.At), Code: n.Code, Path: n.Path}
		if n.ControlID != "" {
			list[i].ControlID = &n.ControlID
		}
		if n.RequestID != "" {
			list[i].RequestID = &n.RequestID
		}
	}
	return list
}
