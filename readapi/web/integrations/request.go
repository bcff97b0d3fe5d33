package integrations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/internal/httpapi"
	"svc/readapi/web/apicall"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// adminRequest is an administrator's request for one of the pages. It calls the API on behalf of the administrator,
// so that acts are validated and recorded only in the API.
type adminRequest struct {
	*site
	*page.Writer

	w       http.ResponseWriter
	r       *http.Request
	session *auth.Session
	section *section
	status  int              // HTTP status of the page
	refused *apicall.Refusal // reason why the API refused the act; nil: not refused
	effect  *effect          // change that the act would make, if the page shows a preview; nil: no preview
}

// The maximum sizes of a form in bytes. The form of an import contains a file or the text of a file.
const (
	adminFormAtMost  = 256 << 10
	importFormAtMost = 4 << 20
)

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

// now returns the current time.
func (d *adminRequest) now() time.Time { return d.Now() }

// notThere, passed as a version, makes a request succeed only if the resource does not exist yet (If-None-Match: *).
const notThere = "*"

// call sends one request to the API, on the condition that the resource has the given version; "" means no condition.
// It returns the errors of [apicall.Send]. A refusal is part of the response.
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

// read reads a resource from the API and returns its version. If the resource does not exist or cannot be read, read
// sends an error page and returns false.
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

// isMissing reports whether the API responds that a resource does not exist.
func (d *adminRequest) isMissing(path string) bool {
	a, err := d.call(http.MethodGet, path, "", nil)
	return err == nil && a.Status == http.StatusNotFound
}

// fetch reads a resource from the API. Unlike [adminRequest.read], it returns an error instead of sending an error
// page.
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

// send sends an act to the API. If the resource does not exist, the API does not respond, or the response cannot be
// decoded, send shows an error page and returns false. If the API refuses the act, send returns the refusal and true;
// the caller must then show the refusal, as [adminRequest.do] does.
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
			d.ShowUnavailable(d.w, d.r, d.session, "the action was done, but the response could not be decoded", err)
			return nil, false
		}
	}
	return a.Refused, true
}

// do sends an act to the API. If the API refuses the act, do calls showForm, which responds with the form and the
// reasons. If do returns false, it has sent a response.
func (d *adminRequest) do(method, path, version string, body, into any, showForm func(*adminRequest)) bool {
	refused, ok := d.send(method, path, version, body, into)
	if refused != nil {
		d.refuse(refused)
		showForm(d)
		return false
	}
	return ok
}

// refuse stores the reason why the API refuses the act, for display on the page.
func (d *adminRequest) refuse(why *apicall.Refusal) { d.refused, d.status = why, why.PageStatus() }

// untyped returns a function that shows a page with the current values of the resource instead of the entered values.
func untyped(show func(*adminRequest)) func(*adminRequest) {
	return func(d *adminRequest) {
		d.r.PostForm = nil
		show(d)
	}
}

// formVersion returns the version of the resource shown in the form.
func (d *adminRequest) formVersion() string { return d.r.PostForm.Get("version") }

// formVersionOrNew is like [adminRequest.formVersion], but returns [notThere] for a form that creates its resource.
func (d *adminRequest) formVersionOrNew() string { return cmp.Or(d.formVersion(), notThere) }

// showNotFound responds that the resource does not exist. It is also the response for a resource of another hospital.
func (d *adminRequest) showNotFound() {
	d.ShowFault(d.w, d.r, http.StatusNotFound, d.session, "fault.none")
}

// settleWithin is the longest time that a page waits for this process to read a change that another process wrote.
const (
	settleWithin = 2 * time.Second
	settleEvery  = 50 * time.Millisecond
)

// waitUntil waits until shown returns true, but at most settleWithin. shown reports whether this process has read a
// change; usually that takes less than a second after the process that wrote the change has responded.
func (d *adminRequest) waitUntil(shown func() bool) {
	ctx, cancel := context.WithTimeout(d.r.Context(), settleWithin)
	defer cancel()
	look := time.NewTicker(settleEvery) //nolint:forbidigo // polling interval; no result depends on it
	defer look.Stop()
	for !shown() {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// waitForVersion waits until this process shows a resource at the given version.
func (d *adminRequest) waitForVersion(path, version string) {
	d.waitUntil(func() bool {
		a, err := d.call(http.MethodGet, path, "", nil)
		return err == nil && a.Refused == nil && a.Version == version
	})
}

// list identifies a list in the API by its path and the name of its rows in the response.
type list[T any] struct{ path, name string }

// rowsOf is an API response that contains a list.
type rowsOf[T any] struct {
	name string
	rows []T
}

// UnmarshalJSON implements [json.Unmarshaler].
func (l *rowsOf[T]) UnmarshalJSON(answer []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(answer, &all); err != nil || all[l.name] == nil {
		return err
	}
	return json.Unmarshal(all[l.name], &l.rows)
}

// read returns the rows of the list. If they cannot be read, it sends an error page and returns false.
func (l list[T]) read(d *adminRequest) (rows []T, ok bool) {
	in := rowsOf[T]{name: l.name}
	_, ok = d.read(l.path, &in)
	return in.rows, ok
}

// find returns the first row that satisfies the condition. If there is none or the rows cannot be read, it sends an
// error page and returns false.
func (l list[T]) find(d *adminRequest, is func(*T) bool) (*T, bool) {
	rows, ok := l.read(d)
	if !ok {
		return nil, false
	}
	row := findRow(rows, is)
	if row == nil {
		d.showNotFound()
	}
	return row, row != nil
}

// wait waits until the list in this process has a row that satisfies the condition. If the parameter there is false,
// it waits until the list has no such row.
func (l list[T]) wait(d *adminRequest, there bool, is func(*T) bool) {
	d.waitUntil(func() bool {
		in := rowsOf[T]{name: l.name}
		return d.fetch(l.path, &in) == nil && (findRow(in.rows, is) != nil) == there
	})
}

// findRow returns the first row that satisfies the condition, or nil if there is none.
func findRow[T any](rows []T, is func(*T) bool) *T {
	for i := range rows {
		if is(&rows[i]) {
			return &rows[i]
		}
	}
	return nil
}
