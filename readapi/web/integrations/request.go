package integrations

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/contract"
	"svc/readapi/web/apicall"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// Administration is the API and what the pages show beside it.
type Administration struct {
	// API answers every request, those that read and those that write.
	API http.Handler
	// Token returns a key of the API that stands for an administrator for a minute.
	Token func(hospital, user string) string
	// Counts returns how many things a hospital has, by the name of the section.
	Counts func(hospital string) map[string]int
	// Past tries rules on what was recorded; nil: the pages do not offer it.
	Past Past
	// URL is the address of the API for senders, without a path; "": the address of the page.
	URL string
	// TestRequest returns the request of a test that was sent to a webhook, with its
	// signatures. A nil function, or "", says that the request cannot be made again.
	TestRequest func(ctx context.Context, hospital, webhook, command, event string, occurred, sent time.Time) string
	// Operations are the operations of the API, with a sample of each body.
	Operations []contract.Operation
}

// adminRequest is one request of an administrator to one of the pages. It calls the API in
// the name of the administrator, so the API alone validates and records every act.
type adminRequest struct {
	*site
	*page.Writer

	w       http.ResponseWriter
	r       *http.Request
	session *auth.Session
	section *section
}

// adminFormAtMost is the largest size of a form in bytes. A map of codes may be pasted.
const adminFormAtMost = 4 << 20

// pathTo returns a path below the section, such as pathTo("new") or pathTo(id, "revoke").
func (d *adminRequest) pathTo(parts ...string) string {
	path := d.session.Base + rootPath
	if d.section != nil {
		path += "/" + d.section.name
	}
	var below strings.Builder
	for _, p := range parts {
		below.WriteString("/" + url.PathEscape(p))
	}
	return path + below.String()
}

// pathID returns the value of {id} in the path of the page.
func (d *adminRequest) pathID() string { return httpapi.PathValue(d.r, "id") }

// now returns the time of the request.
func (d *adminRequest) now() time.Time { return d.Now() }

// formatTime writes a time of the API, such as "Apr 5 14:32"; "" for none.
func (d *adminRequest) formatTime(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	in, now := t.In(d.Zone), d.now().In(d.Zone)
	if in.Year() != now.Year() {
		return d.FormatDate(in) + " " + in.Format("2006 15:04")
	}
	return d.FormatDate(in) + " " + in.Format("15:04")
}

// notThere stands for the version of a thing that must not exist yet.
const notThere = "*"

// call sends one request to the API. The thing must still have the version; "": it may have
// any version, or not exist. An error says that nobody knows whether the API did it. A
// refusal is part of the answer.
func (d *adminRequest) call(method, path, version string, body any) (*apicall.Answer, error) {
	header := http.Header{"Authorization": {"Bearer " + d.Administration.Token(d.session.Hospital, d.session.User)}}
	switch version {
	case "":
	case notThere:
		header.Set("If-None-Match", notThere)
	default:
		header.Set("If-Match", `"`+version+`"`)
	}
	return apicall.Send(d.r.Context(), d.Administration.API, method, path, header, body)
}

// read reads something from the API. It returns false after it has answered that the thing
// does not exist, or that the API does not answer.
func (d *adminRequest) read(path string, into any) (version string, ok bool) {
	a, err := d.call(http.MethodGet, path, "", nil)
	if err == nil && a.Refused == nil {
		err = a.Decode(into)
	}
	switch {
	case err != nil:
		d.ShowUnavailable(d.w, d.r, d.session, "not read", err)
	case a.Refused != nil && a.Status == http.StatusNotFound:
		d.showNotFound()
	case a.Refused != nil:
		d.ShowUnavailable(d.w, d.r, d.session, "not read", errors.New(a.Refused.Code))
	default:
		return a.Version, true
	}
	return "", false
}

// isMissing reports whether the API says that there is no such thing.
func (d *adminRequest) isMissing(path string) bool {
	a, err := d.call(http.MethodGet, path, "", nil)
	return err == nil && a.Status == http.StatusNotFound
}

// fetch reads something from the API. The error says why it could not be read.
func (d *adminRequest) fetch(path string, into any) error {
	a, err := d.call(http.MethodGet, path, "", nil)
	switch {
	case err != nil:
		return err
	case a.Refused != nil:
		return errors.New(a.Refused.Code)
	}
	return a.Decode(into)
}

// send has the API do something. It returns false after it has answered that the thing does
// not exist, or that the API does not answer. The page shows a refusal: see
// [adminRequest.newForm].
func (d *adminRequest) send(method, path, version string, body, into any) (refused *apicall.Refusal, ok bool) {
	a, err := d.call(method, path, version, body)
	switch {
	case err != nil:
		d.ShowUnavailable(d.w, d.r, d.session, "not done", err)
		return nil, false
	case a.Status == http.StatusNotFound:
		d.showNotFound()
		return nil, false
	case a.Refused == nil && into != nil:
		if err := a.Decode(into); err != nil {
			d.ShowUnavailable(d.w, d.r, d.session, "done, but the answer is not understood", err)
			return nil, false
		}
	}
	return a.Refused, true
}

// showNotFound answers that there is no such thing. A thing of another hospital is none.
func (d *adminRequest) showNotFound() {
	d.ShowFault(d.w, d.r, http.StatusNotFound, d.session, "fault.none")
}

// settleWithin is how long a page waits until this process has read a change that another
// process wrote.
const (
	settleWithin = 2 * time.Second
	settleEvery  = 50 * time.Millisecond
)

// waitUntil waits a little until this process shows what was done. Settings reach it within
// a second of the answer of the process that wrote them.
func (d *adminRequest) waitUntil(shown func() bool) {
	ctx, cancel := context.WithTimeout(d.r.Context(), settleWithin)
	defer cancel()
	look := time.NewTicker(settleEvery) //nolint:forbidigo // the pace of looking; no answer depends on it
	defer look.Stop()
	for !shown() {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}
