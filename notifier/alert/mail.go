package alert

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
)

// field is one line of an e-mail.
type field struct{ Name, Value, Link string }

// fields returns the lines of an e-mail, most urgent first, for a reader who has just been woken up.
func (a *Alert) fields(t *texts) []field {
	now, was := a.level(t)
	lines := []field{
		{Name: t.text("field.level"), Value: now + was},
		{Name: t.text("field.unit"), Value: a.unit()},
		{Name: t.text("field.time"), Value: t.fullTime(a.At)},
	}
	if why := a.why(t); why != "" {
		lines = append(lines, field{Name: t.text("field.status"), Value: why})
	}
	if a.driven() {
		short := t.text("nurses.none")
		if n := a.Effect.Shortfall; n > 0 {
			short = t.nurses(n)
		}
		lines = append(lines, field{Name: t.text("field.cause"), Value: a.axis(t)}, field{Name: t.text("field.short"), Value: short})
	}
	if rooms := a.Rooms; rooms != nil {
		lines = append(lines, field{Name: t.text("field.rooms"), Value: strconv.Itoa(rooms.Open)})
		for i := range rooms.Top {
			r := &rooms.Top[i]
			lines = append(lines, field{Name: t.room(r), Value: t.text("color."+r.Color.String()) + ", " + r.Nursing})
		}
		if p := rooms.Peak; p != nil {
			at := p.At.In(a.At.Location()).Format(clock)
			lines = append(lines, field{Name: t.text("field.peak"), Value: t.text("peak", "n", t.decimal(p.Nurses), "time", at)})
		}
	}
	if a.Action != "" {
		lines = append(lines, field{Name: t.text("field.action"), Value: strings.Join(strings.Fields(a.Action), " ")})
	}
	if a.AckURL != "" {
		lines = append(lines, field{Name: t.text("field.ack"), Value: a.AckURL, Link: a.AckURL})
	}
	return lines
}

// mail returns an e-mail with the given lines, as text and as an HTML table. The table has no images and no external
// styles. Its only link is the one that acknowledges the alert.
func mail(t *texts, subject string, lines []field) (Message, error) {
	var text, page strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&text, "%s: %s\n", l.Name, l.Value)
	}
	footer := t.text("footer")
	text.WriteString("\n" + footer + "\n")
	err := mailPage.Execute(&page, struct {
		Language string
		Lines    []field
		Footer   string
	}{t.language, lines, footer})
	if err != nil {
		return Message{}, fmt.Errorf("write e-mail: %w", err)
	}
	return Message{Subject: subject, Text: text.String(), HTML: page.String()}, nil
}

var mailPage = template.Must(template.New("mail").Parse(`<!DOCTYPE html>
<html lang="{{.Language}}"><body>
<table cellpadding="4" style="font-family:sans-serif;font-size:16px;border-collapse:collapse">
{{- range .Lines}}
<tr><th align="left" style="border-bottom:1px solid #ccc">{{.Name}}</th>
{{- /* the row is one line */ -}}
<td style="border-bottom:1px solid #ccc">{{if .Link}}<a href="{{.Link}}">{{.Value}}</a>{{else}}{{.Value}}{{end}}</td></tr>
{{- end}}
</table>
<p style="font-family:sans-serif;font-size:13px;color:#555">{{.Footer}}</p>
</body></html>
`))

// Message is the content of one e-mail or SMS.
type Message struct {
	Subject string `json:"subject,omitempty"` // only for e-mail
	Text    string `json:"text"`
	HTML    string `json:"html,omitempty"` // only for e-mail
}

// Mail returns the alert as an e-mail in a language, en or es.
func (a *Alert) Mail(language string) (Message, error) {
	t := textsIn(language)
	return mail(t, a.subject(t), a.fields(t))
}

// TestMail returns an e-mail that tests whether a recipient receives e-mail.
func TestMail(language, unit string, at time.Time) (Message, error) {
	t, a := textsIn(language), Alert{Unit: unit}
	return mail(t, t.text("test.subject", "unit", a.unit(), "time", at.Format(clock)), []field{
		{Name: t.text("field.test"), Value: t.text("test.mail")},
		{Name: t.text("field.unit"), Value: a.unit()},
		{Name: t.text("field.time"), Value: t.fullTime(at)},
	})
}

// Notice informs administrators that an endpoint does not accept events, or accepts them again.
type Notice struct {
	Unit     string
	Endpoint string
	Host     string // never the path, which may contain a secret
	State    string // name of an endpointqueue.Notice, such as failing_1h
	Since    time.Time
	At       time.Time // when the notice is sent; in the hospital's time zone, like Since
}

// Mail returns the notice as an e-mail in a language, en or es.
func (n *Notice) Mail(language string) (Message, error) {
	t, a := textsIn(language), Alert{Unit: n.Unit}
	state := t.text("notice." + n.State)
	lines := []field{
		{Name: t.text("field.webhook"), Value: state},
		{Name: t.text("field.unit"), Value: a.unit()},
		{Name: t.text("field.endpoint"), Value: n.Endpoint},
	}
	if n.Host != "" {
		lines = append(lines, field{Name: t.text("field.host"), Value: n.Host})
	}
	if !n.Since.IsZero() {
		lines = append(lines, field{Name: t.text("field.since"), Value: t.fullTime(n.Since)})
	}
	lines = append(lines, field{Name: t.text("field.time"), Value: t.fullTime(n.At)})
	return mail(t, t.text("notice.subject", "unit", a.unit(), "endpoint", n.Endpoint, "state", state), lines)
}
