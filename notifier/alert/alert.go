// Package alert writes the alerts about a unit as e-mails, text messages or surge.alert events.
//
// An alert shows the name of the unit, the time, the levels with their cause, the number of missing nurses, the state
// of the rooms, and the hospital's instruction. It never shows a factor, code, visit or person. A room label that
// could contain a person's name is replaced by the room number.
package alert

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/notifier/event"
	"svc/notifier/policy"
)

// Alert is the content of one alert, which is the same for all recipients. Messages are written in the recipient's
// language; en.json and es.json contain the wording.
type Alert struct {
	Reason policy.Reason
	Tier   policy.Rank // tier of the alert; 0 if Reason is Cleared
	Unit   string      // the hospital's name
	At     time.Time   // time of the alert, in the hospital's time zone

	Level    acuity.Level // current level
	Prior    acuity.Level // level of the previous alert
	Worst    acuity.Level // highest level in the window of a digest
	Effect   acuity.Effect
	Cause    acuity.Cause
	Rooms    *Rooms // nil: not available in time
	AlertRun string
	Action   string // the hospital's instruction, verbatim
	AckURL   string // "": no acknowledgment is requested
}

// maxUnit is the maximum number of characters of a unit's name that an alert shows.
const maxUnit = 40

// unit returns the unit's name on one line, truncated to maxUnit characters.
func (a *Alert) unit() string {
	name := strings.Join(strings.FieldsFunc(a.Unit, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " ")
	if r := []rune(name); len(r) > maxUnit {
		name = strings.TrimSpace(string(r[:maxUnit]))
	}
	return name
}

// level returns the name of the current level in capitals, and a text about another level. For Raised, Lowered and
// Cleared, the text names the previous level; for Digest, it names the worst level. For all other reasons, the text
// is empty.
func (a *Alert) level(t *texts) (now, was string) {
	now = t.level(a.Level)
	switch a.Reason { //nolint:exhaustive // the other reasons report no change
	case policy.Raised, policy.Lowered, policy.Cleared:
		before := a.Prior
		if a.Effect.Prior != a.Level { // Effect.Prior equals Level if no change was observed
			before = a.Effect.Prior
		}
		was = " " + t.text("was", "level", t.level(before))
	case policy.Digest:
		was = " " + t.text("worst", "level", t.level(a.Worst))
	}
	return now, was
}

// short returns the text with the given key for the number of missing nurses, or "" if none is missing.
func (a *Alert) short(t *texts, key string) string {
	n := a.Effect.Shortfall
	if n == 0 {
		return ""
	}
	return t.text(key+count(n), "nurses", t.nurses(n))
}

// axis returns the text that describes the problem on the axis that drives the level. At green, no axis drives the
// level, so callers check driven first.
func (a *Alert) axis(t *texts) string { return t.text("axis." + a.Effect.Driving.String()) }

// why returns the reason for the alert, displayed next to the level, or "" for Raised and Lowered.
func (a *Alert) why(t *texts) string {
	switch a.Reason { //nolint:exhaustive // the other reasons are not displayed
	case policy.Cleared:
		return t.text("why.cleared")
	case policy.Digest:
		return t.text("why.digest")
	case policy.Escalated:
		return t.text("why.escalated")
	case policy.Repeated:
		return t.text("why.repeated", "color", t.text("color."+a.Level.String()))
	}
	return ""
}

// driven reports whether the alert names the axis that drives the level. A Cleared alert and an alert at green do
// not.
func (a *Alert) driven() bool { return a.Reason != policy.Cleared && a.Level > acuity.LevelGreen }

// summary returns the reason for the alert and the problem on the unit, such as "Level changing often, 2 nurses
// short". It omits the reason if why returns "", and the problem if driven returns false. The subject of the e-mail
// contains the summary.
func (a *Alert) summary(t *texts) string {
	summary := a.why(t)
	if a.driven() {
		state := a.axis(t)
		if short := a.short(t, "short"); short != "" {
			state = short
		}
		if summary != "" {
			summary += ", "
		}
		summary += state
	}
	return summary
}

// line returns the summary field of the surge.alert event, which is always in English: the reason, the level and,
// unless the reason is Cleared, the problem.
func (a *Alert) line() string {
	line := fmt.Sprintf("Alert %s: level %s", a.Reason, a.Level)
	if a.Reason == policy.Digest {
		line += ", worst " + a.Worst.String()
	}
	if summary := a.summary(textsIn(defaultLanguage)); a.Reason != policy.Cleared {
		line += ", " + summary
	}
	return line
}

// subject returns the subject of the e-mail:
//
//	[ORANGE] L&D: 2 nurses short (was YELLOW) 14:05
func (a *Alert) subject(t *texts) string {
	now, was := a.level(t)
	return fmt.Sprintf("[%s] %s: %s%s %s", now, a.unit(), a.summary(t), was, a.At.Format(clock))
}

// Event returns the surge.alert event for the alert. Its id is derived from the number and the content of the
// decision. Therefore a decision that is repeated after a crash gives the same event, and a different decision with
// the same number gives a different event. part distinguishes events of one decision for different endpoints.
func (a *Alert) Event(hospital string, decision int64, part string) (outbound.Event, error) {
	e := outbound.Event{
		ID:       event.ID(hospital, hospital+"/policy/state", decision, outbound.Alert, a.decided()+part),
		Hospital: hospital, Event: outbound.Alert, Source: -1, RoomID: -1, OccurredAt: a.At.UTC().Truncate(time.Millisecond),
	}
	data := event.AlertData{
		LevelData: event.Level(&a.Effect, a.Cause), Tier: a.Tier.String(), Reason: string(a.Reason), AlertRunID: a.AlertRun, Action: a.Action,
	}
	data.Level, data.PriorLevel = a.Level.String(), a.Prior.String()
	if a.Reason == policy.Digest {
		worst := a.Worst.String()
		data.WorstLevel = &worst
	}
	if a.AckURL != "" {
		data.AckURL = &a.AckURL
	}
	if rooms := a.Rooms; rooms != nil {
		data.OpenRooms, data.TopRooms = &rooms.Open, make([]event.Room, 0, len(rooms.Top))
		for i := range rooms.Top {
			r := &rooms.Top[i]
			data.TopRooms = append(data.TopRooms, event.Room{RoomLabel: r.Name(), Color: r.Color.String(), NursingLevel: r.Nursing})
		}
		if rooms.Peak != nil {
			data.Peak = &event.Peak{At: event.Stamp(rooms.Peak.At), NursesP90: rooms.Peak.Nurses}
		}
	}
	var err error
	e.Body, err = event.Body(&e, event.Envelope{
		Level: data.Level, PriorLevel: data.PriorLevel, Data: data,
		Summary: a.line(),
	})
	if err != nil {
		return e, fmt.Errorf("alert: %w", err)
	}
	return e, nil
}

// EventID returns the id of the decision's surge.alert event, which [Alert.Event] returns if part is "". The ids of
// the e-mails and SMS about the decision are derived from this id.
func (a *Alert) EventID(hospital string, decision int64) string {
	return event.ID(hospital, hospital+"/policy/state", decision, outbound.Alert, a.decided())
}

// decided returns a string that distinguishes decisions with the same number. If the level changed between a crash
// and the restart, the repeated decision differs from the one before the crash.
func (a *Alert) decided() string {
	return string(a.Reason) + " " + a.Tier.String() + " " + a.Level.String()
}
