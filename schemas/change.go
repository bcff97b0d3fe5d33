package schemas

import "svc/acuity"

// ChangeHead is the beginning of the record of a change. It has the input of the change, and
// whether partners get a notice.
type ChangeHead struct {
	Version, Offset int64
	Cause           acuity.Cause
	AppliedAt       acuity.Instant
	Outcome         acuity.Outcome
	Level           acuity.Level
	Effects         bool // there is at least one
}

// PeekChange reads the head of a change and nothing else, for readers that see every change
// and need few of them. A fault behind the head stays unnoticed until the record is decoded.
func PeekChange(b []byte) (ChangeHead, error) {
	p, err := changeV1.payload(b)
	if err != nil {
		return ChangeHead{}, err
	}
	r := reader{buf: p}
	h := ChangeHead{
		Version:   r.long(),
		Offset:    r.long(),
		Cause:     acuity.Cause(r.enum(lastCause)),
		AppliedAt: r.at(),
		Outcome:   acuity.Outcome(r.enum(lastOutcome)),
		Level:     acuity.Level(r.enum(lastLevel)),
		Effects:   r.long() != 0,
	}
	if r.fault != "" {
		return ChangeHead{}, r.error(&changeV1)
	}
	return h, nil
}

func changeFields(c *coder, v *acuity.Change) {
	c.long(&v.Version)
	c.long(&v.Offset)
	enum(c, &v.Cause, lastCause)
	c.at(&v.AppliedAt)
	enum(c, &v.Outcome, lastOutcome)
	enum(c, &v.Level, lastLevel)
	list(c, &v.Effects, effectFields)
	c.text(&v.Hospital)
	c.text(&v.Reason)
	list(c, &v.Items, itemResultFields)
	list(c, &v.Activated, factorChangeFields)
	list(c, &v.Expired, factorChangeFields)
	list(c, &v.Active, (*coder).factor)
	list(c, &v.Unmapped, unmappedFields)
	list(c, &v.Warnings, warningFields)
	c.int(&v.Removed)
	optional(c, &v.Preview, previewFields)
	c.long(&v.Repeats)
	c.at(&v.RepeatsAt)
	optional(c, &v.Snapshot, snapshotFields)
	c.text(&v.RoomLabel)
}

func previewFields(c *coder, p *acuity.Preview) {
	enum(c, &p.Outcome, lastOutcome)
	c.text(&p.Reason)
	enum(c, &p.Level, lastLevel)
	list(c, &p.Effects, effectFields)
	list(c, &p.Activated, factorChangeFields)
	list(c, &p.Expired, factorChangeFields)
	list(c, &p.Warnings, warningFields)
}

func itemResultFields(c *coder, item *acuity.ItemResult) {
	enum(c, &item.Outcome, lastOutcome)
	c.text(&item.Reason)
	c.bool(&item.HasRoom)
	c.int(&item.RoomID)
}

func effectFields(c *coder, e *acuity.Effect) {
	enum(c, &e.Kind, lastEffectKind)
	enum(c, &e.Level, lastLevel)
	enum(c, &e.Prior, lastLevel)
	enum(c, &e.Driving, lastAxis)
	c.int(&e.Ratio)
	c.int(&e.Shortfall)
	c.int(&e.RoomID)
	c.text(&e.RoomLabel)
	enum(c, &e.Color, lastColor)
	enum(c, &e.PriorColor, lastColor)
	c.int(&e.Score)
	list(c, &e.Factors, (*coder).factor)
	c.text(&e.Nursing)
}

func factorChangeFields(c *coder, f *acuity.FactorChange) {
	c.int(&f.RoomID)
	c.text(&f.RoomLabel)
	c.factor(&f.Factor)
	c.text(&f.Ratio)
	c.at(&f.Since)
	enum(c, &f.Kind, lastEvidenceKind)
}

func unmappedFields(c *coder, u *acuity.Unmapped) {
	c.system(&u.System)
	c.text(&u.Code)
	c.text(&u.Display)
}
