package schemas

import "svc/acuity"

// ChangeCodec encodes and decodes the change that an observation or the passage of time caused in a hospital.
var ChangeCodec = NewCodec("change", changeFields)

// ChangeHead is the first part of a change record. It identifies the input that caused the change, and shows whether
// the change has effects. Partners are notified of effects.
type ChangeHead struct {
	Version, Offset int64
	Cause           acuity.Cause
	AppliedAt       acuity.Instant
	Outcome         acuity.Outcome
	Level           acuity.Level
	Effects         bool // whether the change has effects
}

// PeekChange decodes only the head of a change record, for readers that discard most changes. It does not detect
// errors after the head.
func PeekChange(b []byte) (ChangeHead, error) {
	p, err := ChangeCodec.schema.payload(b)
	if err != nil {
		return ChangeHead{}, err
	}
	r := reader{buf: p}
	h := ChangeHead{
		Version:   r.long(),
		Offset:    r.long(),
		Cause:     acuity.Cause(r.enum(lastCause)),
		AppliedAt: acuity.Instant(r.long()),
		Outcome:   acuity.Outcome(r.enum(lastOutcome)),
		Level:     acuity.Level(r.enum(lastLevel)),
		Effects:   r.long() != 0,
	}
	if r.fault != "" {
		return ChangeHead{}, r.error(ChangeCodec.schema)
	}
	return h, nil
}

func changeFields(c *Coder, v *acuity.Change) {
	c.Long(&v.Version)
	c.Long(&v.Offset)
	Enum(c, &v.Cause, lastCause)
	c.at(&v.AppliedAt)
	Enum(c, &v.Outcome, lastOutcome)
	Enum(c, &v.Level, lastLevel)
	List(c, &v.Effects, effectFields)
	c.Text(&v.Hospital)
	c.Text(&v.Reason)
	List(c, &v.Items, itemResultFields)
	List(c, &v.Activated, factorChangeFields)
	List(c, &v.Expired, factorChangeFields)
	List(c, &v.Active, (*Coder).factor)
	List(c, &v.Unmapped, unmappedFields)
	List(c, &v.Warnings, warningFields)
	c.Int(&v.Removed)
	optional(c, &v.Preview, previewFields)
	c.Long(&v.Repeats)
	c.at(&v.RepeatsAt)
	optional(c, &v.Snapshot, snapshotFields)
	c.Text(&v.RoomLabel)
}

func previewFields(c *Coder, p *acuity.Preview) {
	Enum(c, &p.Outcome, lastOutcome)
	c.Text(&p.Reason)
	Enum(c, &p.Level, lastLevel)
	List(c, &p.Effects, effectFields)
	List(c, &p.Activated, factorChangeFields)
	List(c, &p.Expired, factorChangeFields)
	List(c, &p.Warnings, warningFields)
}

func itemResultFields(c *Coder, item *acuity.ItemResult) {
	Enum(c, &item.Outcome, lastOutcome)
	c.Text(&item.Reason)
	c.Bool(&item.HasRoom)
	c.Int(&item.RoomID)
}

func effectFields(c *Coder, e *acuity.Effect) {
	Enum(c, &e.Kind, lastEffectKind)
	Enum(c, &e.Level, lastLevel)
	Enum(c, &e.Prior, lastLevel)
	Enum(c, &e.Driving, lastAxis)
	c.Int(&e.Ratio)
	c.Int(&e.Shortfall)
	c.Int(&e.RoomID)
	c.Text(&e.RoomLabel)
	Enum(c, &e.Color, lastColor)
	Enum(c, &e.PriorColor, lastColor)
	c.Int(&e.Score)
	List(c, &e.Factors, (*Coder).factor)
	c.Text(&e.Nursing)
}

func factorChangeFields(c *Coder, f *acuity.FactorChange) {
	c.Int(&f.RoomID)
	c.Text(&f.RoomLabel)
	c.factor(&f.Factor)
	c.Text(&f.Ratio)
	c.at(&f.Since)
	Enum(c, &f.Kind, lastEvidenceKind)
}

func unmappedFields(c *Coder, u *acuity.Unmapped) {
	c.system(&u.System)
	c.Text(&u.Code)
	c.Text(&u.Display)
}
