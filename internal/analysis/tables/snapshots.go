package tables

import (
	"fmt"

	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// SnapshotRow is an input of the forecast: the state of a unit at a full hour. If several rows have the same hospital
// and hour, the row with the highest generation applies; among rows of the same generation, the last one applies.
type SnapshotRow struct {
	Hospital     string `parquet:"hospital,dict" json:"hospital" about:"Hospital ID"`
	Hour         Moment `parquet:"hour,timestamp(millisecond)" json:"hour" about:"Full hour"`
	Partition    int32  `parquet:"partition" json:"partition" about:"Topic partition; with offset, the position of the record"`
	Offset       int64  `parquet:"offset,delta" json:"offset" about:"Offset within the partition"`
	At           Moment `parquet:"at,timestamp(millisecond)" json:"at" about:"Record timestamp"`
	Generation   int32  `parquet:"generation" json:"generation" about:"A higher generation replaces a lower one of the same hour, after a backfill"`
	Backfill     int32  `parquet:"backfill" json:"backfill" about:"Number of hours that remain in the same backfill, including this one; 0 for a live snapshot"`
	Position     int64  `parquet:"position" json:"position" about:"Offset of the last observation before the snapshot"`
	RulesVersion string `parquet:"rules_version,dict" json:"rules_version" about:"Version of the rules"`
	Observed     bool   `parquet:"observed" json:"observed" about:"Whether the unit has a state whose last clinical fact is at most 12 hours old"`

	Level    string  `parquet:"level,dict" json:"level" about:"Unit level: green, yellow, orange or red"`
	Occupied int32   `parquet:"occupied" json:"occupied" about:"Occupied rooms"`
	Rooms    *int32  `parquet:"rooms,optional" json:"rooms,omitempty" about:"Rooms in the last census, excluding blocked rooms; null if unknown"`
	Boarders int32   `parquet:"boarders" json:"boarders" about:"Boarders, counted as in the flow axis"`
	Nurses   *int32  `parquet:"nurses,optional" json:"nurses,omitempty" about:"Nurses on duty; null if unknown"`
	Call     *string `parquet:"call,dict,optional" json:"call,omitempty" about:"On-call staff available: yes or no; null if unknown"`
	Moves    int32   `parquet:"moves" json:"moves" about:"Admissions, transfers and discharges in the last 120 minutes"`
	Class4   []int32 `parquet:"class4,list" json:"class4" about:"Rooms with an emergency: now and at each of the next 8 hours, if nothing new happens"`

	Arrivals []SnapshotArrivalRow `parquet:"arrivals,list" json:"arrivals,omitempty" about:"Visits that started since the previous hour"`
	Visits   []SnapshotVisitRow   `parquet:"visits,list" json:"visits,omitempty" about:"Open visits, at most 500"`
}

// SnapshotArrivalRow is a visit that began.
type SnapshotArrivalRow struct {
	Visit string `parquet:"visit" json:"visit" about:"First 8 bytes of the visit pseudonym in hexadecimal; the same in every hour"`
	Kind  string `parquet:"kind,dict" json:"kind" about:"How the visit started: triage, labor, birth or other"`
}

// SnapshotVisitRow is an open visit.
type SnapshotVisitRow struct {
	Visit  string  `parquet:"visit" json:"visit" about:"As in arrivals"`
	Stage  string  `parquet:"stage,dict" json:"stage" about:"triage, early, labor, birth, recovery, couplet, antepartum, other or couplet-cesarean"`
	Age    int32   `parquet:"age" json:"age" about:"Minutes in the stage"`
	Demand []int32 `parquet:"demand,list" json:"demand" about:"Demand in 1/60 nurse: now and at each of the next 8 hours"`
	Score  []int32 `parquet:"score,list" json:"score" about:"Score of the visit's room: now and at each of the next 8 hours; 0 if the score of the room is reported with another visit"`
}

var (
	arrivalWords = [...]string{
		acuity.ArrivesTriage: "triage", acuity.ArrivesLabor: "labor", acuity.ArrivesBirth: "birth", acuity.ArrivesOther: "other",
	}
	stageWords = [...]string{
		acuity.StageTriage: "triage", acuity.StageEarly: "early", acuity.StageLabor: "labor", acuity.StageBirth: "birth",
		acuity.StageRecovery: "recovery", acuity.StageCouplet: "couplet", acuity.StageAntepartum: "antepartum", acuity.StageOther: "other",
		acuity.StageCoupletCesarean: "couplet-cesarean",
	}
)

const hourMS = 3_600_000

func readSnapshot(r *stream.Record, row *SnapshotRow) (reason string) {
	e, err := schemas.SnapshotCodec.Decode(r.Value)
	if err != nil {
		return schemas.ReasonOf(err)
	}
	s := &e.Snapshot
	*row = SnapshotRow{
		Hospital: e.Hospital, Hour: Moment(s.Hour) * hourMS, Partition: r.Partition, Offset: r.Offset, At: momentOf(r.Timestamp),
		Generation: s.Generation, Backfill: s.Backfill, Position: s.Position, RulesVersion: s.RulesVersion, Observed: s.Observed,
		Level: s.Level.String(), Occupied: s.Occupied, Boarders: s.Boarders, Call: nullable(word(tristateWords[:], s.Call)), Moves: s.Moves,
		Class4: s.Class4[:],
	}
	if s.Rooms > 0 {
		row.Rooms = &s.Rooms
	}
	if s.Nurses >= 0 {
		row.Nurses = &s.Nurses
	}
	for _, a := range s.Arrivals {
		row.Arrivals = append(row.Arrivals, SnapshotArrivalRow{visitText(a.Visit), word(arrivalWords[:], a.Kind)})
	}
	for i := range s.Visits {
		v := &s.Visits[i]
		row.Visits = append(row.Visits, SnapshotVisitRow{
			visitText(v.Visit), word(stageWords[:], v.Class), v.Age, numbers(v.Demand), numbers(v.Score),
		})
	}
	return ""
}

func visitText(v uint64) string { return fmt.Sprintf("%016x", v) }

func numbers(path [acuity.Horizon + 1]uint8) []int32 {
	list := make([]int32, len(path))
	for i, n := range path {
		list[i] = int32(n)
	}
	return list
}

// Snapshots returns the table of the snapshots topic. Each record of the topic is a snapshot.
func Snapshots() *Table[SnapshotRow] {
	return &Table[SnapshotRow]{
		Topic: schemas.Snapshots(),
		Read:  readSnapshot,
		Hospital: func(r *stream.Record) (string, bool) {
			key, err := schemas.ParseKey(r.Key)
			return key.Hospital, err == nil && r.Value != nil
		},
	}
}
