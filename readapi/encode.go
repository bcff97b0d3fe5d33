package readapi

import (
	"strconv"
	"time"

	"svc/internal/httpapi"
)

// The encoders of the answers are written by hand, because they are several times as fast
// as reflection. Each struct has one function, with its fields in order. A test compares
// each with encoding/json.

func (l *level) append(b []byte) []byte {
	b = appendText(append(b, `{"level":`...), l.Level)
	b = appendText(append(b, `,"drivingAxis":`...), l.DrivingAxis)
	b = appendText(append(b, `,"drivingAxisLabel":`...), l.DrivingAxisLabel)
	b = appendInt(append(b, `,"ratioShortfall":`...), l.RatioShortfall)
	return append(b, '}')
}

// pieces returns the answer in order: each room, and the bytes before, between and after
// the rooms.
func (u *unitState) pieces() [][]byte {
	b := u.beforeRooms(make([]byte, 0, unitBytes))
	rooms := len(b)
	b = u.afterRooms(b)
	pieces := make([][]byte, 0, 2*len(u.Rooms)+2)
	pieces = append(pieces, b[:rooms])
	for i, room := range u.Rooms {
		if i > 0 {
			pieces = append(pieces, comma)
		}
		pieces = append(pieces, room)
	}
	return append(pieces, b[rooms:])
}

var comma = []byte{','}

func (u *unitState) beforeRooms(b []byte) []byte {
	b = appendText(append(b, `{"level":`...), u.Level)
	b = appendInt(append(b, `,"levelRank":`...), u.LevelRank)
	b = appendTime(append(b, `,"levelSince":`...), u.LevelSince)
	b = appendOrNull(append(b, `,"priorLevel":`...), u.PriorLevel, appendText)
	b = appendText(append(b, `,"drivingAxis":`...), u.DrivingAxis)
	b = appendText(append(b, `,"drivingAxisLabel":`...), u.DrivingAxisLabel)
	b = appendList(append(b, `,"axes":`...), u.Axes, (*axis).append)
	b = appendInt(append(b, `,"ratioShortfall":`...), u.RatioShortfall)
	b = u.RatioShortfallFTE.append(append(b, `,"ratioShortfallFte":`...))
	b = u.NursesRequired.append(append(b, `,"nursesRequired":`...))
	b = appendOrNull(append(b, `,"nursesOnDuty":`...), u.NursesOnDuty, appendInt)
	b = appendOrNull(append(b, `,"callStaffAvailable":`...), u.CallStaffAvailable, strconv.AppendBool)
	b = appendOrNull(append(b, `,"nurseAcuityRatio":`...), u.NurseAcuityRatio, appendDecimal)
	b = append(b, `,"roster":`...)
	if u.Roster == nil {
		b = append(b, "null"...)
	} else {
		b = u.Roster.append(b)
	}
	return append(b, `,"rooms":[`...)
}

func (u *unitState) afterRooms(b []byte) []byte {
	b = appendInt(append(b, `],"unplacedPatients":`...), u.UnplacedPatients)
	b = appendList(append(b, `,"dataQuality":`...), u.DataQuality, (*quality).append)
	b = appendInt(append(b, `,"version":`...), u.Version)
	b = appendTime(append(b, `,"asOf":`...), u.AsOf)
	b = appendTime(append(b, `,"nextChangeAt":`...), u.NextChangeAt)
	b = appendText(append(b, `,"rulesVersion":`...), u.RulesVersion)
	return append(b, '}')
}

func (a *axis) append(b []byte) []byte {
	b = appendText(append(b, `{"id":`...), a.ID)
	b = appendText(append(b, `,"label":`...), a.Label)
	b = appendOrNull(append(b, `,"level":`...), a.Level, appendText)
	b = a.Pressure.append(append(b, `,"pressure":`...))
	b = appendOrNull(append(b, `,"value":`...), a.Value, appendDecimal)
	b = appendText(append(b, `,"status":`...), a.Status)
	b = appendText(append(b, `,"detail":`...), a.Detail)
	b = appendText(append(b, `,"rule":`...), a.Rule)
	return append(b, '}')
}

func (r *roster) append(b []byte) []byte {
	b = appendTime(append(b, `{"asOf":`...), r.AsOf)
	b = appendInt(append(b, `,"nurses":`...), r.Nurses)
	b = r.SkillMix.append(append(b, `,"skillMix":`...))
	b = r.Tenure.append(append(b, `,"tenure":`...))
	b = strconv.AppendBool(append(b, `,"stale":`...), r.Stale)
	b = appendList(append(b, `,"assignments":`...), r.Assignments, (*assignment).append)
	return append(b, '}')
}

func (m *skillMix) append(b []byte) []byte {
	b = appendInt(append(b, `{"novice":`...), m.Novice)
	b = appendInt(append(b, `,"experienced":`...), m.Experienced)
	b = appendInt(append(b, `,"expert":`...), m.Expert)
	b = appendInt(append(b, `,"unknown":`...), m.Unknown)
	return append(b, '}')
}

func (t *tenure) append(b []byte) []byte {
	b = appendInt(append(b, `{"under1y":`...), t.Under1)
	b = appendInt(append(b, `,"y1to5":`...), t.From1to5)
	b = appendInt(append(b, `,"y5to10":`...), t.From5to10)
	b = appendInt(append(b, `,"over10y":`...), t.Over10)
	b = appendInt(append(b, `,"unknown":`...), t.Unknown)
	b = appendOrNull(append(b, `,"medianYears":`...), t.MedianYears, appendDecimal)
	return append(b, '}')
}

func (a *assignment) append(b []byte) []byte {
	b = appendText(append(b, `{"externalId":`...), a.ExternalID)
	b = appendOrNull(append(b, `,"skillLevel":`...), a.SkillLevel, appendInt)
	b = appendList(append(b, `,"roomIds":`...), a.RoomIDs, func(id *int32, b []byte) []byte { return appendInt(b, *id) })
	b = a.Demand.append(append(b, `,"demand":`...))
	return append(b, '}')
}

func (r *room) append(b []byte) []byte {
	b = appendInt(append(b, `{"roomId":`...), r.RoomID)
	b = appendText(append(b, `,"roomLabel":`...), r.RoomLabel)
	b = appendText(append(b, `,"area":`...), r.Area)
	b = appendText(append(b, `,"status":`...), r.Status)
	b = appendText(append(b, `,"color":`...), r.Color)
	b = appendInt(append(b, `,"score":`...), r.Score)
	b = r.NursesRequired.append(append(b, `,"nursesRequired":`...))
	b = appendText(append(b, `,"nursingLevel":`...), r.NursingLevel)
	b = appendOrNull(append(b, `,"primaryFactor":`...), r.PrimaryFactor, appendText)
	b = appendList(append(b, `,"factors":`...), r.Factors, (*factor).append)
	b = appendTime(append(b, `,"nextChangeAt":`...), r.NextChangeAt)
	b = strconv.AppendBool(append(b, `,"stale":`...), r.Stale)
	return append(b, '}')
}

func (f *factor) append(b []byte) []byte {
	b = appendText(append(b, `{"id":`...), f.ID)
	b = appendText(append(b, `,"label":`...), f.Label)
	b = appendText(append(b, `,"kind":`...), f.Kind)
	b = appendText(append(b, `,"section":`...), f.Section)
	b = appendTime(append(b, `,"since":`...), f.Since)
	b = appendText(append(b, `,"evidence":`...), f.Evidence)
	b = appendOrNull(append(b, `,"assignedBy":`...), f.AssignedBy, appendText)
	b = appendOrNull(append(b, `,"ratio":`...), f.Ratio, appendText)
	b = appendInt(append(b, `,"severity":`...), f.Severity)
	b = appendTime(append(b, `,"nextChangeAt":`...), f.NextChangeAt)
	b = appendList(append(b, `,"sources":`...), f.Sources, (*source).append)
	return append(b, '}')
}

func (s *source) append(b []byte) []byte {
	b = appendText(append(b, `{"feed":`...), s.Feed)
	b = appendText(append(b, `,"system":`...), s.System)
	b = appendText(append(b, `,"code":`...), s.Code)
	return append(b, '}')
}

func (q *quality) append(b []byte) []byte {
	b = appendText(append(b, `{"code":`...), q.Code)
	b = appendText(append(b, `,"message":`...), q.Message)
	return append(b, '}')
}

// appendList writes an array. The slice of an answer is never nil.
func appendList[T any](b []byte, list []T, one func(*T, []byte) []byte) []byte {
	b = append(b, '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(&list[i], b)
	}
	return append(b, ']')
}

func appendOrNull[T any](b []byte, v *T, one func([]byte, T) []byte) []byte {
	if v == nil {
		return append(b, "null"...)
	}
	return one(b, *v)
}

func appendInt[T int | int8 | uint8 | int32 | int64](b []byte, n T) []byte {
	return strconv.AppendInt(b, int64(n), 10)
}

func appendDecimal(b []byte, d decimal) []byte { return d.append(b) }

func appendTime(b []byte, at httpapi.Time) []byte {
	if time.Time(at).IsZero() {
		return append(b, "null"...)
	}
	return append(at.Append(append(b, '"')), '"')
}

// appendText writes a string. Plain ASCII is copied; encoding/json writes the rest, which
// is rare here.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7F || c == '"' || c == '\\' {
			quoted, _ := httpapi.Marshal(s) //nolint:errcheck // cannot fail for a string
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
