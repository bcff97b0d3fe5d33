// Package alert writes the alerts about a unit: e-mails, text messages, data of surge.alert.
//
// Its input is the unit's name, the local time, levels, the driving axis, nurses and room labels. It has no field for
// a factor, code, visit or person. A label that may be more than a label is replaced by the number of the room.
package alert

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/notifier/event"
	"svc/notifier/policy"
)

// Alert is the content of one alert, which is the same for all recipients.
type Alert struct {
	Reason policy.Reason
	Tier   policy.Rank // tier of the alert; 0 if Reason is Cleared
	Unit   string      // the hospital's name
	At     time.Time   // time in the zone of the hospital

	Level    acuity.Level // now
	Prior    acuity.Level // level of the previous alert
	Worst    acuity.Level // highest level in the window of a digest
	Effect   acuity.Effect
	Cause    acuity.Cause
	Rooms    *Rooms // nil: not available in time
	AlertRun string
	Action   string // the hospital's instruction, verbatim
	AckURL   string // "": no acknowledgment is needed
}

// maxUnit is the maximum number of characters of a unit's name in an alert.
const maxUnit = 40

// unit returns the name of the unit on one line.
func (a *Alert) unit() string {
	name := strings.Join(strings.FieldsFunc(a.Unit, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " ")
	if r := []rune(name); len(r) > maxUnit {
		name = strings.TrimSpace(string(r[:maxUnit]))
	}
	return name
}

// level returns the level in capitals. was is the previous level if the level has changed, or the worst level of a
// digest.
func (a *Alert) level() (now, was string) {
	now = strings.ToUpper(a.Level.String())
	switch a.Reason { //nolint:exhaustive // the other reasons report no change
	case policy.Raised, policy.Lowered, policy.Cleared:
		before := a.Prior
		if a.Effect.Prior != a.Level { // otherwise no change was observed
			before = a.Effect.Prior
		}
		was = " (was " + strings.ToUpper(before.String()) + ")"
	case policy.Digest:
		was = " (worst " + strings.ToUpper(a.Worst.String()) + ")"
	}
	return now, was
}

// short returns the number of missing nurses in words; "" if none is missing.
func (a *Alert) short() string {
	switch n := a.Effect.Shortfall; n {
	case 0:
		return ""
	case 1:
		return "1 nurse"
	default:
		return strconv.Itoa(int(n)) + " nurses"
	}
}

// axis returns the label of the axis that drives the level.
func (a *Alert) axis() string { return event.Level(&a.Effect, a.Cause).DrivingAxisLabel }

// why returns the text next to the level; "" for Raised and Lowered.
func (a *Alert) why() string {
	switch a.Reason { //nolint:exhaustive // the other reasons have no such text
	case policy.Cleared:
		return "Cleared"
	case policy.Digest:
		return "Level changing often"
	case policy.Escalated:
		return "Not acknowledged"
	case policy.Repeated:
		return "Still " + a.Level.String()
	}
	return ""
}

// driven reports whether an axis drives the level, which is never the case at green.
func (a *Alert) driven() bool { return a.Reason != policy.Cleared && a.Level > acuity.LevelGreen }

// Summary returns the subject of the e-mail without the level at its start, on one line.
func (a *Alert) Summary() string {
	said := a.why()
	if a.driven() {
		state := a.axis()
		if short := a.short(); short != "" {
			state = short + " short"
		}
		if said != "" {
			said += ", "
		}
		said += state
	}
	return said
}

// line returns the summary of the event.
func (a *Alert) line() string {
	said := fmt.Sprintf("Alert %s: level %s", a.Reason, a.Level)
	if a.Reason == policy.Digest {
		said += ", worst " + a.Worst.String()
	}
	if summary := a.Summary(); a.Reason != policy.Cleared {
		said += ", " + summary
	}
	return said
}

// Subject returns the subject of the e-mail:
//
//	[ORANGE] L&D: 2 nurses short (was YELLOW) 14:05
func (a *Alert) Subject() string {
	now, was := a.level()
	return fmt.Sprintf("[%s] %s: %s%s %s", now, a.unit(), a.Summary(), was, a.At.Format("15:04"))
}

// Event returns the surge.alert of the alert. Its id is derived from the number of the decision and its content: a
// decision that is repeated after a crash gives the same event, a different decision with that number another one. A
// part identifies a further event of the same decision for other endpoints.
func (a *Alert) Event(hospital string, decision int64, part string) (outbound.Event, error) {
	e := outbound.Event{
		ID:       event.ID(hospital, hospital+"/policy/state", decision, outbound.Alert, a.subject()+part),
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

// EventID returns the id of the decision's surge.alert, which its messages share.
func (a *Alert) EventID(hospital string, decision int64) string {
	return event.ID(hospital, hospital+"/policy/state", decision, outbound.Alert, a.subject())
}

// subject distinguishes decisions with the same number. If the level changed between a crash and the restart, the
// repeated decision is a different one.
func (a *Alert) subject() string {
	return string(a.Reason) + " " + a.Tier.String() + " " + a.Level.String()
}
