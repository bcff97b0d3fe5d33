package tables

import (
	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// VerdictRow is one change of a unit: the effect of one input or of one timer.
type VerdictRow struct {
	Hospital    string  `parquet:"hospital,dict" json:"hospital" about:"Hospital ID"`
	Version     int64   `parquet:"version,delta" json:"version" about:"Version of the hospital's verdict; each change adds 1"`
	Partition   int32   `parquet:"partition" json:"partition" about:"Partition number, the same in the verdicts and observations topics"`
	Offset      *int64  `parquet:"offset,optional" json:"offset,omitempty" about:"Offset in the verdicts topic; null in a replay"`
	At          *Moment `parquet:"at,timestamp(millisecond),optional" json:"at,omitzero" about:"Record timestamp; null in a replay"`
	InputOffset int64   `parquet:"input_offset,delta" json:"input_offset" about:"Offset of the observation; for a change caused by time, of the last observation before it"`
	Cause       string  `parquet:"cause,dict" json:"cause" about:"Cause of the change: ingest or time"`
	AppliedAt   Moment  `parquet:"applied_at,timestamp(millisecond)" json:"applied_at" about:"Time on the hospital's clock at which the change was applied"`
	Outcome     string  `parquet:"outcome,dict" json:"outcome" about:"applied, duplicate, ignored or rejected; time if there was no input"`
	Reason      *string `parquet:"reason,dict,optional" json:"reason,omitempty" about:"Reason code of the outcome"`
	Level       string  `parquet:"level,dict" json:"level" about:"Unit level after the change: green, yellow, orange or red"`

	Effects   []EffectRow `parquet:"effects,list" json:"effects,omitempty" about:"Events sent to partners: the level first, then rooms by ID"`
	Activated []FactorRow `parquet:"activated,list" json:"activated,omitempty" about:"Factors that became active"`
	Expired   []FactorRow `parquet:"expired,list" json:"expired,omitempty" about:"Factors that stopped being active"`
	Warnings  []string    `parquet:"warnings,list" json:"warnings,omitempty" about:"Warning codes"`
	Removed   int32       `parquet:"removed" json:"removed" about:"Number of rooms that a census removed from the unit"`
	Repeats   *int64      `parquet:"repeats,optional" json:"repeats,omitempty" about:"For a duplicate request, the version that the original request produced"`

	Record []byte `parquet:"record,optional" json:"record,omitempty" about:"The stored record: Avro in the Confluent wire format, base64 in text formats; null in a replay"`
}

// EffectRow is one effect about which partners are notified.
type EffectRow struct {
	Kind       string   `parquet:"kind,dict" json:"kind" about:"surge.level_changed or room.rescored"`
	Level      *string  `parquet:"level,dict,optional" json:"level,omitempty" about:"Unit level, for surge.level_changed"`
	PriorLevel *string  `parquet:"prior_level,dict,optional" json:"prior_level,omitempty" about:"Previous value"`
	Axis       *string  `parquet:"axis,dict,optional" json:"axis,omitempty" about:"Driving axis of the level"`
	Shortfall  int32    `parquet:"shortfall" json:"shortfall" about:"Nurses short, in whole nurses"`
	RoomID     *int32   `parquet:"room_id,optional" json:"room_id,omitempty" about:"Room ID, for room.rescored"`
	RoomLabel  *string  `parquet:"room_label,dict,optional" json:"room_label,omitempty" about:"Room label"`
	Color      *string  `parquet:"color,dict,optional" json:"color,omitempty" about:"Room color: gray, green, yellow, orange or red"`
	PriorColor *string  `parquet:"prior_color,dict,optional" json:"prior_color,omitempty" about:"Previous value"`
	Score      *int32   `parquet:"score,optional" json:"score,omitempty" about:"Room score, 0 to 100"`
	Factors    []string `parquet:"factors,list" json:"factors,omitempty" about:"Active factors of the room, most severe first"`
}

// FactorRow is a factor that became active or inactive.
type FactorRow struct {
	RoomID    int32   `parquet:"room_id" json:"room_id" about:"Room ID"`
	RoomLabel *string `parquet:"room_label,dict,optional" json:"room_label,omitempty" about:"Room label"`
	Factor    string  `parquet:"factor,dict" json:"factor" about:"Factor ID in the catalogue"`
	Ratio     *string `parquet:"ratio,dict,optional" json:"ratio,omitempty" about:"Required nurse-to-patient ratio"`
	Since     *Moment `parquet:"since,timestamp(millisecond),optional" json:"since,omitzero" about:"Start of the uninterrupted period"`
	Evidence  *string `parquet:"evidence,dict,optional" json:"evidence,omitempty" about:"Source: signal, diagnosis, site, manual, adt or census"`
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
	default: // an effect kind of a newer release; only the column "record" contains it
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

// Verdicts returns the table of the changes on the verdicts topic. The topic's other records are current state, one per
// key, and not part of the history.
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
				return 0 // decoding the record reports the error
			}
			return head.Version
		},
	}
}
