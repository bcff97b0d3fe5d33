package integrations

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi"
	"svc/readapi/web/apicall"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// Administration is what the pages of administrators go by.
type Administration struct {
	// API answers every request of the API, those that read and those that write.
	API http.Handler
	// Token stands for an administrator for a minute.
	Token func(hospital, user string) string
	// Counts returns how many things a hospital has, by the name of the section.
	Counts func(hospital string) map[string]int
	// Past tries rules on what was recorded; nil: they are not tried.
	Past Past
	// URL is the address of the API for those who send to it, without a path.
	URL string
	// TestRequest returns the request of a test that was sent to a webhook, with the
	// signatures that it had at the time; nil, or "": it cannot be made again.
	TestRequest func(ctx context.Context, hospital, webhook, command, event string, occurred, sent time.Time) string
	// Operations are those of the API: what a key opens, and a sample of each body.
	Operations []httpapi.Operation
}

// adminRequest is one request of an administrator on one of the pages of integrations. It asks the
// API in her name: there is one validation, and one audit record, by the API itself.
type adminRequest struct {
	*site
	*page.Writer

	w       http.ResponseWriter
	r       *http.Request
	session *auth.Session
	section *section
}

// adminFormAtMost is the size of a form in bytes: a map of codes may be pasted.
const adminFormAtMost = 4 << 20

// at returns a path below the section, such as at("new") or at(id, "revoke").
func (d *adminRequest) at(parts ...string) string {
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

// id returns the value of {id} in the path of the page.
func (d *adminRequest) id() string {
	text := chi.URLParam(d.r, "id")
	if id, err := url.PathUnescape(text); err == nil {
		return id
	}
	return text
}

// now is the time of the request.
func (d *adminRequest) now() time.Time { return d.Now() }

// when writes a moment of the API, such as "Apr 5 14:32"; "" for none.
func (d *adminRequest) when(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	in, now := t.In(d.Zone), d.now().In(d.Zone)
	if in.Year() != now.Year() {
		return d.FormatDate(in) + " " + in.Format("2006 15:04")
	}
	return d.FormatDate(in) + " " + in.Format("15:04")
}

// notThere stands for the version of a thing that must not be there yet.
const notThere = "*"

// ask sends one request to the API. The error says that it is not known whether it was
// done; a refusal is no error. The thing must still have the version; "": any, or none.
func (d *adminRequest) ask(method, path, version string, body any) (*apicall.Answer, error) {
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

// read asks the API for something; false: the page has answered, as there is no such thing
// or the API does not answer.
func (d *adminRequest) read(path string, into any) (version string, ok bool) {
	a, err := d.ask(http.MethodGet, path, "", nil)
	if err == nil && a.Refused == nil {
		err = a.Decode(into)
	}
	switch {
	case err != nil:
		d.ShowUnavailable(d.w, d.r, d.session, "not read", err)
	case a.Refused != nil && a.Status == http.StatusNotFound:
		d.gone()
	case a.Refused != nil:
		d.ShowUnavailable(d.w, d.r, d.session, "not read", errors.New(a.Refused.Code))
	default:
		return a.Version, true
	}
	return "", false
}

// list asks the API for something. The error says why it is not known.
func (d *adminRequest) list(path string, into any) error {
	a, err := d.ask(http.MethodGet, path, "", nil)
	switch {
	case err != nil:
		return err
	case a.Refused != nil:
		return errors.New(a.Refused.Code)
	}
	return a.Decode(into)
}

// do has the API do something. False: the page has answered, as there is no such thing or
// the API does not answer. A refusal is for the page to show: see [adminRequest.form].
func (d *adminRequest) do(method, path, version string, body, into any) (refused *apicall.Refusal, ok bool) {
	a, err := d.ask(method, path, version, body)
	switch {
	case err != nil:
		d.ShowUnavailable(d.w, d.r, d.session, "not done", err)
		return nil, false
	case a.Status == http.StatusNotFound:
		d.gone()
		return nil, false
	case a.Refused == nil && into != nil:
		if err := a.Decode(into); err != nil {
			d.ShowUnavailable(d.w, d.r, d.session, "done, but the answer is not understood", err)
			return nil, false
		}
	}
	return a.Refused, true
}

// gone answers that there is no such thing, also one of another hospital.
func (d *adminRequest) gone() { d.ShowFault(d.w, d.r, http.StatusNotFound, d.session, "fault.none") }

// settleWithin is how long a page waits until this process reads what another one wrote.
const (
	settleWithin = 2 * time.Second
	settleEvery  = 50 * time.Millisecond
)

// settle waits a little until this process shows what was done: settings reach it within
// a second of the answer of the process that wrote them.
func (d *adminRequest) settle(shown func() bool) {
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
