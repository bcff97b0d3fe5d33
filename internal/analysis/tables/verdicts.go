package tables

import (
	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// VerdictRow is one change of a unit: the effect of one input, or of one due instant.
type VerdictRow struct {
	Hospital    string  `parquet:"hospital,dict" json:"hospital" about:"id of the hospital"`
	Version     int64   `parquet:"version,delta" json:"version" about:"one counter per hospital, + 1 each"`
	Partition   int32   `parquet:"partition" json:"partition" about:"of the verdicts and of the observations"`
	Offset      *int64  `parquet:"offset,optional" json:"offset,omitempty" about:"in the topic of the verdicts; null in a replay"`
	At          *Moment `parquet:"at,timestamp(millisecond),optional" json:"at,omitzero" about:"timestamp of the record; null in a replay"`
	InputOffset int64   `parquet:"input_offset,delta" json:"input_offset" about:"offset of the observation; of a change by time the last one again"`
	Cause       string  `parquet:"cause,dict" json:"cause" about:"ingest or time"`
	AppliedAt   Moment  `parquet:"applied_at,timestamp(millisecond)" json:"applied_at" about:"clock of the hospital at this change"`
	Outcome     string  `parquet:"outcome,dict" json:"outcome" about:"applied, duplicate, ignored, rejected; time without an input"`
	Reason      *string `parquet:"reason,dict,optional" json:"reason,omitempty" about:"stable code of an outcome that needs one"`
	Level       string  `parquet:"level,dict" json:"level" about:"of the unit after the change: green, yellow, orange, red"`

	Effects   []EffectRow `parquet:"effects,list" json:"effects,omitempty" about:"what partners are told: the level, then rooms by id"`
	Activated []FactorRow `parquet:"activated,list" json:"activated,omitempty" about:"factors that became active"`
	Expired   []FactorRow `parquet:"expired,list" json:"expired,omitempty" about:"factors that ceased to be"`
	Warnings  []string    `parquet:"warnings,list" json:"warnings,omitempty" about:"stable codes of what was odd and taken all the same"`
	Removed   int32       `parquet:"removed" json:"removed" about:"rooms that a census took out of the unit"`
	Repeats   *int64      `parquet:"repeats,optional" json:"repeats,omitempty" about:"version of the change that the first of equal requests made"`

	Record []byte `parquet:"record,optional" json:"record,omitempty" about:"the record as stored (Avro in the wire format of a schema registry; in text base64); null in a replay"`
}

// EffectRow is one effect that partners are notified of.
type EffectRow struct {
	Kind       string   `parquet:"kind,dict" json:"kind" about:"surge.level_changed or room.rescored"`
	Level      *string  `parquet:"level,dict,optional" json:"level,omitempty" about:"of the unit; of surge.level_changed"`
	PriorLevel *string  `parquet:"prior_level,dict,optional" json:"prior_level,omitempty" about:"before"`
	Axis       *string  `parquet:"axis,dict,optional" json:"axis,omitempty" about:"that drives the level"`
	Shortfall  int32    `parquet:"shortfall" json:"shortfall" about:"nurses short, whole"`
	RoomID     *int32   `parquet:"room_id,optional" json:"room_id,omitempty" about:"of room.rescored"`
	RoomLabel  *string  `parquet:"room_label,dict,optional" json:"room_label,omitempty" about:"what the room is called"`
	Color      *string  `parquet:"color,dict,optional" json:"color,omitempty" about:"of the room: gray, green, yellow, orange, red"`
	PriorColor *string  `parquet:"prior_color,dict,optional" json:"prior_color,omitempty" about:"before"`
	Score      *int32   `parquet:"score,optional" json:"score,omitempty" about:"of the room, 0 to 100"`
	Factors    []string `parquet:"factors,list" json:"factors,omitempty" about:"active in the room, gravest first"`
}

// FactorRow is a factor that became active or ceased to be.
type FactorRow struct {
	RoomID    int32   `parquet:"room_id" json:"room_id" about:"room"`
	RoomLabel *string `parquet:"room_label,dict,optional" json:"room_label,omitempty" about:"what it is called"`
	Factor    string  `parquet:"factor,dict" json:"factor" about:"id in the catalogue"`
	Ratio     *string `parquet:"ratio,dict,optional" json:"ratio,omitempty" about:"nurses to patients that it asks for"`
	Since     *Moment `parquet:"since,timestamp(millisecond),optional" json:"since,omitzero" about:"start of the unbroken run"`
	Evidence  *string `parquet:"evidence,dict,optional" json:"evidence,omitempty" about:"where it comes from: signal, diagnosis, site, manual, adt, census"`
}

// VerdictOf returns the row of a change in a partition.
func VerdictOf(partition int32, c *acuity.Change) VerdictRow {
	return VerdictRow{
		Hospital: c.Hospital, Version: c.Version, Partition: partition, InputOffset: c.Offset,
		Cause: word(causeWords[:], c.Cause), AppliedAt: Moment(c.AppliedAt), Outcome: word(outcomeWords[:], c.Outcome),
		Reason: nullable(c.Reason), Level: c.Level.String(), Removed: c.Removed,
		Effects:   rowsOf(c.Effects, effectRow),
		Activated: rowsOf(c.Activated, factorRow), Expired: rowsOf(c.Expired, factorRow),
		Warnings: rowsOf(c.Warnings, func(w *acuity.Warning) string { return w.Code }),
		Repeats:  nullable(c.Repeats),
	}
}

func effectRow(e *acuity.Effect) EffectRow {
	row := EffectRow{Kind: word(effectWords[:], e.Kind)}
	switch e.Kind {
	case acuity.LevelChanged:
		row.Level, row.PriorLevel = nullable(e.Level.String()), nullable(e.Prior.String())
		row.Axis, row.Shortfall = nullable(e.Driving.String()), e.Shortfall
	case acuity.RoomRescored:
		row.RoomID, row.RoomLabel, row.Score = &e.RoomID, nullable(e.RoomLabel), &e.Score
		row.Color, row.PriorColor, row.Factors = nullable(e.Color.String()), nullable(e.PriorColor.String()), factorIDs(e.Factors)
	default: // a newer release wrote it: the column record has its bytes
	}
	return row
}

func factorRow(f *acuity.FactorChange) FactorRow {
	return FactorRow{
		f.RoomID, nullable(f.RoomLabel), factorID(f.Factor),
		nullable(f.Ratio), nullable(Moment(f.Since)), nullable(f.Kind.String()),
	}
}

func readVerdict(r *stream.Record, row *VerdictRow) (reason string) {
	c, err := schemas.ChangeCodec.Decode(r.Value)
	if err != nil {
		return schemas.ReasonOf(err)
	}
	*row = VerdictOf(r.Partition, c)
	row.Hospital = string(r.Key)
	row.Offset, row.At, row.Record = &r.Offset, nullable(momentOf(r.Timestamp)), schemas.Portable(r.Value)
	return ""
}

// Verdicts is the table of the changes on the topic. Its other records hold the state, one per
// key, and are no history.
func Verdicts() *Table[VerdictRow] {
	return &Table[VerdictRow]{
		Topic: schemas.Verdicts(),
		Read:  readVerdict,
		Hospital: func(r *stream.Record) (string, bool) {
			return string(schemas.HospitalOf(r.Key)), schemas.IsChange(r.Key) && !r.Copy
		},
		Version: func(r *stream.Record) int64 {
			head, err := schemas.PeekChange(r.Value)
			if err != nil {
				return 0 // decoding it reports the fault
			}
			return head.Version
		},
	}
}
