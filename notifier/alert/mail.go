package alert

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
)

// fullTime is the format of times in an e-mail.
const fullTime = "15:04 MST, January 2, 2006"

// field is one line of an e-mail.
type field struct{ Name, Value, Link string }

// fields returns the lines of an e-mail, most urgent first, for a reader who was just woken up.
func (a *Alert) fields() []field {
	now, was := a.level()
	lines := []field{{Name: "Level", Value: now + was}, {Name: "Unit", Value: a.unit()}, {Name: "Time", Value: a.At.Format(fullTime)}}
	if why := a.why(); why != "" {
		lines = append(lines, field{Name: "Status", Value: why})
	}
	if a.driven() {
		lines = append(lines, field{Name: "Cause", Value: a.axis()})
		short := a.short()
		if short == "" {
			short = "none"
		}
		lines = append(lines, field{Name: "Short", Value: short})
	}
	if rooms := a.Rooms; rooms != nil {
		lines = append(lines, field{Name: "Empty rooms", Value: strconv.Itoa(rooms.Open)})
		for i := range rooms.Top {
			r := &rooms.Top[i]
			lines = append(lines, field{Name: r.Name(), Value: r.Color.String() + ", " + r.Nursing})
		}
		if p := rooms.Peak; p != nil {
			at := p.At.In(a.At.Location()).Format("15:04")
			lines = append(lines, field{Name: "Expected peak", Value: fmt.Sprintf("up to %.1f nurses needed at %s", p.Nurses, at)})
		}
	}
	if a.Action != "" {
		lines = append(lines, field{Name: "Instructions", Value: strings.Join(strings.Fields(a.Action), " ")})
	}
	if a.AckURL != "" {
		lines = append(lines, field{Name: "Acknowledge", Value: a.AckURL, Link: a.AckURL})
	}
	return lines
}

const footer = "Sent by svc to a role on duty. Not clinically validated: check the unit before you act."

// mail returns an e-mail with these lines, as text and as an HTML table. The table has no images, no external styles,
// and no link except the acknowledgment.
func mail(subject string, lines []field) (Message, error) {
	var text, page strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&text, "%s: %s\n", l.Name, l.Value)
	}
	text.WriteString("\n" + footer + "\n")
	err := mailPage.Execute(&page, struct {
		Lines  []field
		Footer string
	}{lines, footer})
	if err != nil {
		return Message{}, fmt.Errorf("write e-mail: %w", err)
	}
	return Message{Subject: subject, Text: text.String(), HTML: page.String()}, nil
}

var mailPage = template.Must(template.New("mail").Parse(`<!DOCTYPE html>
<html lang="en"><body>
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

// Message is the text for one recipient.
type Message struct {
	Subject string `json:"subject,omitempty"` // only for e-mail
	Text    string `json:"text"`
	HTML    string `json:"html,omitempty"` // only for e-mail
}

// Mail returns the e-mail of the alert.
func (a *Alert) Mail() (Message, error) { return mail(a.Subject(), a.fields()) }

// TestMail returns the e-mail that verifies that a recipient receives e-mail.
func TestMail(unit string, at time.Time) (Message, error) {
	a := Alert{Unit: unit}
	return mail(fmt.Sprintf("[TEST] %s: test alert %s", a.unit(), at.Format("15:04")), []field{
		{Name: "Test", Value: "This address receives alerts for the unit. No action is needed."},
		{Name: "Unit", Value: a.unit()},
		{Name: "Time", Value: at.Format(fullTime)},
	})
}

// Notice informs administrators about an endpoint that accepts no events.
type Notice struct {
	Unit     string
	Endpoint string
	Host     string // never the path, which may contain a secret
	State    string // "failing for 1 hour"
	Since    time.Time
	At       time.Time // Since and At are in the zone of the hospital
}

// Mail returns the e-mail of the notice.
func (n *Notice) Mail() (Message, error) {
	a := Alert{Unit: n.Unit}
	lines := []field{{Name: "Webhook", Value: n.State}, {Name: "Unit", Value: a.unit()}, {Name: "Endpoint", Value: n.Endpoint}}
	if n.Host != "" {
		lines = append(lines, field{Name: "Host", Value: n.Host})
	}
	if !n.Since.IsZero() {
		lines = append(lines, field{Name: "Since", Value: n.Since.Format(fullTime)})
	}
	lines = append(lines, field{Name: "Time", Value: n.At.Format(fullTime)})
	return mail(fmt.Sprintf("[svc] %s: webhook %s %s", a.unit(), n.Endpoint, n.State), lines)
}
