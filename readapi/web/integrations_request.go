package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi"
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
	*writer
	w       http.ResponseWriter
	r       *http.Request
	session *Session
	section *section
}

// freshFor is how old a sign-in may be for what shows or ends a secret.
const freshFor = 60 * time.Minute

// adminFormAtMost is the size of a form in bytes: a map of codes may be pasted.
const adminFormAtMost = 4 << 20

// at returns a path below the section, such as at("new") or at(id, "revoke").
func (d *adminRequest) at(parts ...string) string {
	path := d.session.Base + integrationsPath
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
	in, now := t.In(d.zone), d.now().In(d.zone)
	if in.Year() != now.Year() {
		return d.date(in) + " " + in.Format("2006 15:04")
	}
	return d.date(in) + " " + in.Format("15:04")
}

// refusal is what the API refuses something for, in its words.
type refusal struct {
	Status  int `json:"-"`
	Code    string
	Message string
	Details []refusedField
}

// refusedField is a broken rule of one field, named by its path in the body.
type refusedField struct{ Path, Rule string }

// overtaken reports whether somebody else changed the thing since it was shown.
func (f *refusal) overtaken() bool { return f != nil && f.Status == http.StatusPreconditionFailed }

// answered is what the API answers to one request.
type answered struct {
	Version string // entity tag, without quotes
	Refused *refusal
	Status  int
	data    json.RawMessage
}

// notThere stands for the version of a thing that must not be there yet.
const notThere = "*"

// ask sends one request to the API. The error says that it is not known whether it was
// done; a refusal is no error. The thing must still have the version; "": any, or none.
func (d *adminRequest) ask(method, path, version string, body any) (*answered, error) {
	header := http.Header{"Authorization": {"Bearer " + d.Administration.Token(d.session.Hospital, d.session.User)}}
	switch version {
	case "":
	case notThere:
		header.Set("If-None-Match", notThere)
	default:
		header.Set("If-Match", `"`+version+`"`)
	}
	return askAPI(d.r.Context(), d.Administration.API, method, path, header, body)
}

// askAPI sends one request to a handler of the API.
func askAPI(ctx context.Context, api http.Handler, method, path string, header http.Header, body any) (*answered, error) {
	var text []byte
	switch b := body.(type) {
	case nil:
	case json.RawMessage:
		text = b
	default:
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("write the body: %w", err)
		}
	}
	// The handler has a context of its own: it may be the one that serves the page, too.
	inner, cancel := context.WithTimeout(context.Background(), actWithin)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	r, err := http.NewRequestWithContext(inner, method, path, bytes.NewReader(text)) //nolint:contextcheck // see above
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	r.RemoteAddr = "127.0.0.1:0" // of this process
	r.Header = header
	if body == nil {
		r.Body, r.ContentLength = http.NoBody, 0
	} else if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	out := &recorded{header: http.Header{}}
	api.ServeHTTP(out, r)
	return out.answered()
}

// answered reads the envelope of an answer.
func (r *recorded) answered() (*answered, error) {
	var said struct {
		OK    bool
		Data  json.RawMessage
		Error refusal
	}
	switch err := json.Unmarshal(r.body.Bytes(), &said); {
	case err != nil, r.status >= http.StatusInternalServerError, r.status == http.StatusTooManyRequests, r.status == http.StatusUnauthorized:
		return nil, fmt.Errorf("%w: status %d", errUnclear, r.status)
	}
	a := &answered{Version: strings.Trim(r.header.Get("Etag"), `"`), Status: r.status, data: said.Data}
	if !said.OK {
		said.Error.Status = r.status
		a.Refused = &said.Error
	}
	return a, nil
}

// into reads the data of an answer.
func (a *answered) into(into any) error {
	if err := json.Unmarshal(a.data, into); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// read asks the API for something; false: the page has answered, as there is no such thing
// or the API does not answer.
func (d *adminRequest) read(path string, into any) (version string, ok bool) {
	a, err := d.ask(http.MethodGet, path, "", nil)
	if err == nil && a.Refused == nil {
		err = a.into(into)
	}
	switch {
	case err != nil:
		d.site.away(d.w, d.r, d.session, "not read", err)
	case a.Refused != nil && a.Status == http.StatusNotFound:
		d.gone()
	case a.Refused != nil:
		d.site.away(d.w, d.r, d.session, "not read", errors.New(a.Refused.Code))
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
	return a.into(into)
}

// do has the API do something. False: the page has answered, as there is no such thing or
// the API does not answer. A refusal is for the page to show: see [adminRequest.form].
func (d *adminRequest) do(method, path, version string, body, into any) (refused *refusal, ok bool) {
	a, err := d.ask(method, path, version, body)
	switch {
	case err != nil:
		d.site.away(d.w, d.r, d.session, "not done", err)
		return nil, false
	case a.Status == http.StatusNotFound:
		d.gone()
		return nil, false
	case a.Refused == nil && into != nil:
		if err := a.into(into); err != nil {
			d.site.away(d.w, d.r, d.session, "done, but the answer is not understood", err)
			return nil, false
		}
	}
	return a.Refused, true
}

// gone answers that there is no such thing, also one of another hospital.
func (d *adminRequest) gone() { d.say(d.w, d.r, http.StatusNotFound, d.session, "fault.none") }

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

// ruleText says what is wrong with a field: what the rule of the API means, in the language of
// the page, and the rule itself.
func (t *texts) ruleText(rule string) string {
	about, known := httpapi.AboutRule(rule)
	if !known {
		return rule
	}
	return t.Or("rule."+about.Rule, about.About) + " (" + rule + ")"
}

// saidKeys are the keys of the sentences of the API, which has no code for each of them.
var saidKeys = sync.OnceValue(func() map[string]string {
	keys := map[string]string{}
	for key, text := range allTexts["en"].words {
		if strings.HasPrefix(key, "said.") {
			keys[text] = key
		}
	}
	return keys
})

// said returns a sentence of the API in the language of the page.
func (t *texts) said(message string) string {
	key, known := saidKeys()[message]
	if !known {
		return message
	}
	return t.T(key)
}
