// Package event encodes the changes of a verdict as the events that leave the service. Each event has an id and an
// envelope. The same change gives the same bytes on every machine and after every restart.
package event

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/score"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
)

// Protocol is the name and version of the envelope.
const Protocol = "svc.v1"

// maxSummary is the maximum number of characters in a summary.
const maxSummary = 140

// Envelope holds the fields of every event. Data is encoded as JSON, with its fields in order.
type Envelope struct {
	Protocol   string `json:"protocol"`
	ID         string `json:"id"`
	Event      string `json:"event"`
	HospitalID string `json:"hospitalId"`
	OccurredAt string `json:"occurredAt"`
	Summary    string `json:"summary"`
	Level      string `json:"level"`
	PriorLevel string `json:"priorLevel"`
	Data       any    `json:"data"`
}

// LevelData is the data of surge.level_changed, and the first part of the data of
// surge.alert.
type LevelData struct {
	Level            string   `json:"level"`
	PriorLevel       string   `json:"priorLevel"`
	DrivingAxis      string   `json:"drivingAxis"`
	DrivingAxisLabel string   `json:"drivingAxisLabel"`
	NurseAcuityRatio *float64 `json:"nurseAcuityRatio"` // two decimals; null: unknown
	RatioShortfall   int32    `json:"ratioShortfall"`
	Cause            string   `json:"cause"`
}

// AlertData is the data of surge.alert. A field that was not available in time is null.
type AlertData struct {
	LevelData
	Tier       string  `json:"tier"`
	Reason     string  `json:"reason"`
	AlertRunID string  `json:"episodeId"`
	OpenRooms  *int    `json:"openRooms"`
	TopRooms   []Room  `json:"topRooms"`
	Peak       *Peak   `json:"peak"`
	Action     string  `json:"action"`
	AckURL     *string `json:"ackUrl"`
	// WorstLevel is the highest level in the window of a digest, or null in any other alert.
	WorstLevel *string `json:"worstLevel"`
}

// Room is one of the rooms with the highest scores.
type Room struct {
	RoomLabel    string `json:"roomLabel"`
	Color        string `json:"color"`
	NursingLevel string `json:"nursingLevel"`
}

// Peak is the instant at which the need for nurses is expected to be greatest.
type Peak struct {
	At        string  `json:"at"`
	NursesP90 float64 `json:"nursesP90"`
}

type roomData struct {
	RoomID       int32    `json:"roomId"`
	RoomLabel    string   `json:"roomLabel"`
	Color        string   `json:"color"`
	PriorColor   string   `json:"priorColor"`
	Score        int32    `json:"score"`
	Factors      []string `json:"factors"`
	NursingLevel string   `json:"nursingLevel"`
	Cause        string   `json:"cause"`
}

// FromChange returns one event for each effect of a change, in the order of c.Effects. offset is the offset of the
// change in the verdicts topic.
func FromChange(c *acuity.Change, offset int64) ([]outbound.Event, error) {
	if len(c.Effects) == 0 {
		return nil, nil
	}
	prior := c.Level
	for i := range c.Effects {
		if c.Effects[i].Kind == acuity.LevelChanged {
			prior = c.Effects[i].Prior
		}
	}
	events := make([]outbound.Event, 0, len(c.Effects))
	for i := range c.Effects {
		effect := &c.Effects[i]
		e := outbound.Event{
			Hospital: c.Hospital, Version: c.Version, Source: offset, RoomID: -1, OccurredAt: c.AppliedAt.Time(),
		}
		envelope := Envelope{Level: c.Level.String(), PriorLevel: prior.String()}
		subject := ""
		switch effect.Kind {
		case acuity.LevelChanged:
			e.Event = outbound.LevelChanged
			data := Level(effect, c.Cause)
			envelope.Level = data.Level
			envelope.Summary = fmt.Sprintf("Level %s (was %s): %s", data.Level, data.PriorLevel, data.DrivingAxisLabel)
			envelope.Data = data
		case acuity.RoomRescored:
			e.Event, e.RoomID = outbound.RoomRescored, effect.RoomID
			subject = strconv.Itoa(int(effect.RoomID))
			data := room(effect, c.Cause)
			envelope.Summary = fmt.Sprintf("%s %s (was %s), score %d", nameInSentence(effect), data.Color, data.PriorColor, data.Score)
			envelope.Data = data
		default:
			return nil, fmt.Errorf("unknown effect kind %d", effect.Kind)
		}
		e.ID = ID(c.Hospital, c.Hospital, c.Version, e.Event, subject)
		var err error
		if e.Body, err = Body(&e, envelope); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// Level returns the data of a level change.
func Level(effect *acuity.Effect, cause acuity.Cause) LevelData {
	v := score.Verdict{Level: effect.Level, Driving: effect.Driving}
	d := LevelData{
		Level: effect.Level.String(), PriorLevel: effect.Prior.String(),
		DrivingAxis: effect.Driving.String(), DrivingAxisLabel: v.DrivingLabel(),
		RatioShortfall: effect.Shortfall, Cause: causes[cause],
	}
	if effect.Ratio >= 0 {
		ratio := float64(effect.Ratio) / 100 //nolint:mnd // hundredths
		d.NurseAcuityRatio = &ratio
	}
	return d
}

var causes = map[acuity.Cause]string{acuity.CauseIngest: "ingest", acuity.CauseTime: "time"}

// nameInSentence returns the name of a room for use in a summary, such as "Room 301" or "LDR 4".
func nameInSentence(effect *acuity.Effect) string {
	name := NameRoom(effect.RoomID, effect.RoomLabel)
	if first := name[0]; '0' <= first && first <= '9' {
		return "Room " + name
	}
	return name
}

func room(effect *acuity.Effect, cause acuity.Cause) roomData {
	d := roomData{
		RoomID: effect.RoomID, RoomLabel: effect.RoomLabel, Color: effect.Color.String(), PriorColor: effect.PriorColor.String(),
		Score: effect.Score, Factors: make([]string, len(effect.Factors)), NursingLevel: effect.Nursing, Cause: causes[cause],
	}
	for i, f := range effect.Factors {
		d.Factors[i] = f.ID()
	}
	return d
}

// Body encodes an event and its envelope as compact JSON without a newline. It returns an error if the JSON exceeds
// [outbound.MaxBody] bytes.
func Body(e *outbound.Event, envelope Envelope) ([]byte, error) {
	envelope.Protocol, envelope.ID, envelope.Event, envelope.HospitalID = Protocol, e.ID, e.Event, e.Hospital
	envelope.OccurredAt = Stamp(e.OccurredAt)
	if r := []rune(envelope.Summary); len(r) > maxSummary {
		envelope.Summary = string(r[:maxSummary])
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // receivers do not embed the text in HTML
	if err := encoder.Encode(envelope); err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	body := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if len(body) > outbound.MaxBody {
		return nil, fmt.Errorf("encode event: more than %d bytes", outbound.MaxBody)
	}
	return body, nil
}

// Stamp formats an instant as all events do: UTC, milliseconds.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// ID returns the id of an event. The id depends only on what the event is about: the key and version of the record,
// the event name, and the subject. For a room, subject is the room's id. For an alert, key and version are the
// policy's key and the decision's number, and subject is the content of the decision. For a test, key and version are
// the key of the command and 0.
func ID(hospital, key string, version int64, event, subject string) string {
	return digest("evt_", Protocol, hospital, key, strconv.FormatInt(version, 10), event, subject)
}

// DeliveryID returns the id of the delivery of an event to an endpoint over a channel.
func DeliveryID(event, endpoint string, channel subscriber.Channel) string {
	return digest("dlv_", event, endpoint, string(channel))
}

// digest returns prefix, followed by 32 hexadecimal digits of the hash of parts. The parts are joined with NUL.
func digest(prefix string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return prefix + hex.EncodeToString(sum[:16])
}

// LevelOf decodes the effect and its cause from the body of a surge.level_changed event, and reports whether the body
// is valid.
func LevelOf(body []byte) (effect acuity.Effect, cause acuity.Cause, ok bool) {
	var e struct {
		Data LevelData `json:"data"`
	}
	if json.Unmarshal(body, &e) != nil {
		return effect, cause, false
	}
	effect = acuity.Effect{Kind: acuity.LevelChanged, Ratio: -1, Shortfall: e.Data.RatioShortfall}
	var level, prior, axis bool
	effect.Level, level = named(e.Data.Level, acuity.LevelRed)
	effect.Prior, prior = named(e.Data.PriorLevel, acuity.LevelRed)
	effect.Driving, axis = named(e.Data.DrivingAxis, acuity.Axis(acuity.AxisCount-1))
	if e.Data.NurseAcuityRatio != nil {
		effect.Ratio = int32(math.Round(*e.Data.NurseAcuityRatio * 100))
	}
	for one, name := range causes {
		if name == e.Data.Cause {
			cause = one
		}
	}
	return effect, cause, level && prior && axis
}

// named returns the value in [0, last] with the given name, and reports whether there is one.
func named[T interface {
	~uint8
	fmt.Stringer
}](name string, last T) (T, bool) {
	for value := range last + 1 {
		if value.String() == name {
			return value, true
		}
	}
	return 0, false
}

// Test returns the event for a test command: a ping, or a sample with made-up data. The summary of a sample says that
// it is a sample. A ping and a sample about a room have the given level, which is the unit's current one; the other
// samples have a made-up level.
func Test(c *outbound.Command, level acuity.Level) (outbound.Event, error) {
	e := outbound.Event{
		Hospital: c.Hospital, Event: c.Event, Source: -1, RoomID: -1,
		OccurredAt: c.At.UTC().Truncate(time.Millisecond), Only: []string{c.Endpoint}, Command: c.ID,
	}
	if e.Event == "" {
		e.Event = outbound.Ping
	}
	envelope := Envelope{Level: level.String(), PriorLevel: level.String()}
	sample := acuity.Effect{Level: acuity.LevelOrange, Prior: acuity.LevelYellow, Driving: acuity.AxisStaffing, Ratio: 84, Shortfall: 2}
	subject := ""
	switch e.Event {
	case outbound.Ping:
		envelope.Summary, envelope.Data = "Test: the endpoint receives events", struct{}{}
	case outbound.LevelChanged:
		data := Level(&sample, acuity.CauseIngest)
		envelope.Level, envelope.PriorLevel, envelope.Data = data.Level, data.PriorLevel, data
		envelope.Summary = "Test: level orange (was yellow): " + data.DrivingAxisLabel
	case outbound.RoomRescored:
		e.RoomID, subject = 1, "1"
		factor, _ := catalogue.FactorByID("high-mag")
		envelope.Summary = "Test: room 1 red (was yellow), score 72"
		envelope.Data = room(&acuity.Effect{
			RoomID: 1, RoomLabel: "Test", Color: acuity.ColorRed, PriorColor: acuity.ColorYellow,
			Score: 72, Factors: []catalogue.Factor{factor}, Nursing: "1:1",
		}, acuity.CauseIngest)
	case outbound.Alert:
		envelope.Level, envelope.PriorLevel = sample.Level.String(), sample.Prior.String()
		envelope.Summary = "Test: alert T2: " + sample.Driving.Problem()
		data := Level(&sample, acuity.CauseIngest)
		envelope.Data = AlertData{LevelData: data, Tier: "T2", Reason: "raised", AlertRunID: "epi_test", Action: "Test"}
	default:
		return outbound.Event{}, fmt.Errorf("no sample for event %q", e.Event)
	}
	e.ID = ID(c.Hospital, c.Hospital+"/command/"+c.ID, 0, e.Event, subject)
	var err error
	e.Body, err = Body(&e, envelope)
	return e, err
}
