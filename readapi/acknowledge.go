package readapi

import (
	"bytes"
	"context"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
	"svc/internal/outbound"
	"svc/readapi/web/text"
)

// Alerts provides the data for the page behind the link in an alert. An error means that the result is currently
// unknown, or that the command cannot be issued.
type Alerts interface {
	// Link returns the target of the link with a token, and reports whether there is such a link.
	Link(ctx context.Context, token string) (l outbound.AckLink, ok bool, err error)
	// Episode returns one alert run of a hospital, and reports whether it exists.
	Episode(ctx context.Context, hospital, id string) (e outbound.AlertRun, ok bool, err error)
	// Unit returns the hospital's name and its time zone.
	Unit(hospital string) (name string, zone *time.Location)
	// Order issues a command to the notifier. When it returns nil, the command is durable.
	Order(ctx context.Context, c *outbound.Command) error
	// Done waits briefly for the notifier to execute a command, and returns the command's progress. ok is false if
	// the notifier has not executed the command yet.
	Done(ctx context.Context, c *outbound.Command) (p outbound.Progress, ok bool)
}

// MountAcknowledge adds the page behind the link in an alert. Opening the page changes nothing, because mail scanners
// follow links. The token authorizes the acknowledgment; no key is needed.
func MountAcknowledge(r chi.Router, shell *httpapi.Shell, alerts Alerts) {
	contract.Mount(r, shell, &acknowledge{shell, alerts}, acknowledgeRoutes())
}

// acknowledgeRoutes returns the routes of the page. They are documented as API operations, because a webhook that
// receives ackUrl may acknowledge on behalf of its users.
func acknowledgeRoutes() []contract.Route[*acknowledge] {
	all := []contract.Route[*acknowledge]{
		{Operation: contract.Operation{
			Method: http.MethodGet, ID: "getAlertPage", Summary: "Get the page behind the link in an alert",
			About: "Changes nothing; the page has a button to acknowledge the alert.",
		}, Serve: (*acknowledge).serveLink},
		{Operation: contract.Operation{
			Method: http.MethodPost, ID: "takeAlert", Summary: "Acknowledge an alert by its link",
			About: "Does what the button on the page does: stops escalation and repeats until the level rises again. " +
				"An alert that was already acknowledged or has ended does not change.",
		}, Serve: (*acknowledge).serveAct},
	}
	for i := range all {
		o := &all[i].Operation
		o.Path, o.Group, o.Bare = "/a/{token}", "Alerts", []string{"text/html"}
		o.Parameters = []contract.Parameter{{
			Name: "token", In: "path", Example: "7KQ2M9XW3PTD",
			About: "Token from the link in the message, or from ackUrl in surge.alert; valid for 24 hours.",
		}}
		o.RefusesOnPage = []problem.Kind{problem.Missing, problem.RateLimited, problem.Unavailable}
	}
	return all
}

type acknowledge struct {
	shell  *httpapi.Shell
	alerts Alerts
}

// ackPage is the data of the page behind the link in an alert. It must not contain anything about a room or a
// patient.
type ackPage struct {
	Language, Title, Level, Unit, Notified, State, Button string
	Ask                                                   bool // whether there is an alert to acknowledge
}

func (p *acknowledge) serveLink(w http.ResponseWriter, r *http.Request) {
	l, e, current, ok := p.find(w, r)
	if !ok {
		return
	}
	t := text.For(r)
	page := p.newPage(t, &l, &e)
	switch {
	case current:
		p.write(w, r, http.StatusOK, page)
	case page.Ask:
		page.State = t.T("ack.unknown")
		w.Header().Set("Retry-After", "2")
		p.write(w, r, http.StatusServiceUnavailable, page)
	default:
		p.failUnavailable(w, r)
	}
}

func (p *acknowledge) serveAct(w http.ResponseWriter, r *http.Request) {
	l, e, current, ok := p.find(w, r)
	if !ok {
		return
	}
	t := text.For(r)
	page := p.newPage(t, &l, &e)
	switch {
	case page.Ask: // the command is issued even if the state may be outdated, because the notifier validates it
	case !current:
		p.failUnavailable(w, r)
		return
	default:
		p.write(w, r, http.StatusOK, page)
		return
	}
	c := &outbound.Command{
		ID: "cmd_" + access.RandomHex(8), Hospital: l.Hospital, Verb: outbound.VerbAck, At: p.shell.Now().UTC(), By: "link",
		Episode: l.Episode, EventID: l.Alert,
	}
	if err := p.alerts.Order(r.Context(), c); err != nil {
		p.failUnavailable(w, r)
		return
	}
	done, ok := p.alerts.Done(r.Context(), c)
	switch {
	case !ok: // the command is durable and will take effect before the next alert
		page.State, page.Ask = t.T("ack.stored"), false
	case done.Reason == reasonNewerAlert:
		page.State, page.Ask = t.T("ack.newer"), false
	case done.Reason != "":
		page.State, page.Ask = t.T("ack.over"), false
	default:
		e.AckedAt, e.AckedBy = c.At, c.By
		page = p.newPage(t, &l, &e)
	}
	p.write(w, r, http.StatusOK, page)
}

// reasonNewerAlert is the notifier's reason for refusing an acknowledgment because a newer alert has replaced the
// acknowledged one.
const reasonNewerAlert = "newer_alert"

// find returns the target of the request's link, and the alert run to which the link refers. If ok is false, it has
// sent an error response. If current is false, the state of the alert run may be outdated.
func (p *acknowledge) find(w http.ResponseWriter, r *http.Request) (l outbound.AckLink, e outbound.AlertRun, current, ok bool) {
	l, ok, err := p.alerts.Link(r.Context(), strings.ToUpper(httpapi.PathValue(r, "token")))
	if err == nil && ok && p.shell.Now().Before(l.Until) {
		e, ok, err = p.alerts.Episode(r.Context(), l.Hospital, l.Episode)
	} else {
		ok = false
	}
	switch {
	case err != nil && !ok:
		p.failUnavailable(w, r)
		return l, e, false, false
	case !ok:
		if retry, may := p.shell.Stranger(r); !may {
			w.Header().Set("Retry-After", strconv.Itoa(int(retry/time.Second)+1))
			p.write(w, r, http.StatusTooManyRequests, ackPage{Title: text.For(r).T("ack.many"), State: text.For(r).T("ack.many.do")})
			return l, e, false, false
		}
		p.write(w, r, http.StatusNotFound, ackPage{Title: text.For(r).T("ack.link"), State: text.For(r).T("ack.link.do")})
		return l, e, false, false
	}
	return l, e, err == nil, true
}

func (p *acknowledge) newPage(t *text.Texts, l *outbound.AckLink, e *outbound.AlertRun) ackPage {
	name, zone := p.alerts.Unit(l.Hospital)
	page := ackPage{
		Title: t.T("ack.alert"), Level: t.Or("level."+e.Level, e.Level), Unit: name, Button: t.T("alerts.take"),
		Notified: t.T("ack.notified", "time", e.ToldAt.In(zone).Format("15:04 MST, 2006-01-02")),
	}
	switch {
	case !e.ClosedAt.IsZero():
		page.State = t.T("ack.ended", "time", e.ClosedAt.In(zone).Format("15:04"))
	case !e.AckedAt.IsZero():
		page.State = t.T("ack.done", "time", e.AckedAt.In(zone).Format("15:04"))
	case l.Alert != "" && e.Alert != "" && l.Alert != e.Alert:
		page.State = t.T("ack.newer")
	default:
		page.State, page.Ask = t.T("ack.open"), true
	}
	return page
}

func (p *acknowledge) failUnavailable(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "2")
	p.write(w, r, http.StatusServiceUnavailable, ackPage{Title: text.For(r).T("ack.away"), State: text.For(r).T("ack.away.do")})
}

func (p *acknowledge) write(w http.ResponseWriter, r *http.Request, status int, page ackPage) {
	page.Language = text.For(r).Language
	var b bytes.Buffer
	if err := acknowledgePage.Execute(&b, page); err != nil {
		p.shell.Log.ErrorContext(r.Context(), "page not written", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Internal})
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Robots-Tag", "noindex")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(b.Bytes()) //nolint:errcheck // fails only if the client has disconnected
	}
}

var acknowledgePage = template.Must(template.New("acknowledge").Parse(`<!DOCTYPE html>
<html lang="{{.Language}}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{{.Title}}</title>
<style>:root{color-scheme:light dark}body{font:18px/1.5 sans-serif;max-width:30em;margin:2em auto;padding:0 1em}h1{font-size:1.4em}
.level{text-transform:uppercase;font-weight:bold}button{font:inherit;font-weight:bold;padding:.8em 1.6em;width:100%}</style></head>
<body><main><h1>{{if .Level}}<span class="level">{{.Level}}</span> {{.Unit}}{{else}}{{.Title}}{{end}}</h1>
{{- if .Notified}}
<p>{{.Notified}}</p>{{end}}
<p>{{.State}}</p>
{{- if .Ask}}
<form method="post"><button type="submit">{{.Button}}</button></form>{{end}}
</main></body></html>
`))
