package schemas

import "svc/acuity"

// EncodeChange appends the record of c to dst, which it returns.
func EncodeChange(dst []byte, c *acuity.Change) ([]byte, error) {
	w := begin(dst, &changeV5)
	w.change(c)
	return w.end(&changeV5)
}

// DecodeChange reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeChange(b []byte) (*acuity.Change, error) {
	r, err := open(b, &changeV5)
	if err != nil {
		return nil, err
	}
	c := new(acuity.Change)
	r.change(c)
	if err := r.close(&changeV5); err != nil {
		return nil, err
	}
	return c, nil
}

// ChangeHead is the beginning of the record of a change. It says which input the change
// answers and whether partners are told anything.
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
	p, err := changeV5.payload(b)
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
		return ChangeHead{}, r.error(&changeV5)
	}
	return h, nil
}

func (w *writer) change(c *acuity.Change) {
	w.long(c.Version)
	w.long(c.Offset)
	w.enum(uint8(c.Cause), lastCause)
	w.at(c.AppliedAt)
	w.enum(uint8(c.Outcome), lastOutcome)
	w.enum(uint8(c.Level), lastLevel)
	w.effects(c.Effects)
	w.text(c.Hospital)
	w.text(c.Reason)
	w.itemResults(c.Items)
	w.factorChanges(c.Activated)
	w.factorChanges(c.Expired)
	w.factors(c.Active)
	w.unmappedList(c.Unmapped)
	w.warnings(c.Warnings)
	w.int(c.Removed)
	if w.some(c.Preview != nil) {
		w.preview(c.Preview)
	}
	w.long(c.Repeats)
	w.at(c.RepeatsAt)
	if w.some(c.Snapshot != nil) {
		w.snapshot(c.Snapshot)
	}
	w.text(c.RoomLabel)
}

func (r *reader) change(c *acuity.Change) {
	c.Version = r.long()
	c.Offset = r.long()
	c.Cause = acuity.Cause(r.enum(lastCause))
	c.AppliedAt = r.at()
	c.Outcome = acuity.Outcome(r.enum(lastOutcome))
	c.Level = acuity.Level(r.enum(lastLevel))
	c.Effects = r.effects()
	c.Hospital = r.text()
	c.Reason = r.text()
	c.Items = r.itemResults()
	c.Activated = r.factorChanges()
	c.Expired = r.factorChanges()
	c.Active = r.factors()
	c.Unmapped = r.unmappedList()
	c.Warnings = r.warnings()
	c.Removed = r.int()
	if r.some() {
		c.Preview = new(acuity.Preview)
		r.preview(c.Preview)
	}
	c.Repeats = r.long()
	c.RepeatsAt = r.at()
	if r.some() {
		c.Snapshot = new(acuity.Snapshot)
		r.snapshot(c.Snapshot)
	}
	c.RoomLabel = r.text()
}

func (w *writer) preview(p *acuity.Preview) {
	w.enum(uint8(p.Outcome), lastOutcome)
	w.text(p.Reason)
	w.enum(uint8(p.Level), lastLevel)
	w.effects(p.Effects)
	w.factorChanges(p.Activated)
	w.factorChanges(p.Expired)
	w.warnings(p.Warnings)
}

func (r *reader) preview(p *acuity.Preview) {
	p.Outcome = acuity.Outcome(r.enum(lastOutcome))
	p.Reason = r.text()
	p.Level = acuity.Level(r.enum(lastLevel))
	p.Effects = r.effects()
	p.Activated = r.factorChanges()
	p.Expired = r.factorChanges()
	p.Warnings = r.warnings()
}

func (w *writer) itemResult(item *acuity.ItemResult) {
	w.enum(uint8(item.Outcome), lastOutcome)
	w.text(item.Reason)
	w.bool(item.HasRoom)
	w.int(item.RoomID)
}

func (r *reader) itemResult(item *acuity.ItemResult) {
	item.Outcome = acuity.Outcome(r.enum(lastOutcome))
	item.Reason = r.text()
	item.HasRoom = r.bool()
	item.RoomID = r.int()
}

func (w *writer) itemResults(list []acuity.ItemResult) {
	w.items(len(list))
	for i := range list {
		w.itemResult(&list[i])
	}
	w.done()
}

func (r *reader) itemResults() (list []acuity.ItemResult) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.itemResult(&list[len(list)-1])
	}
	return list
}

func (w *writer) effect(e *acuity.Effect) {
	w.enum(uint8(e.Kind), lastEffectKind)
	w.enum(uint8(e.Level), lastLevel)
	w.enum(uint8(e.Prior), lastLevel)
	w.enum(uint8(e.Driving), lastAxis)
	w.int(e.Ratio)
	w.int(e.Shortfall)
	w.int(e.RoomID)
	w.text(e.RoomLabel)
	w.enum(uint8(e.Color), lastColor)
	w.enum(uint8(e.PriorColor), lastColor)
	w.int(e.Score)
	w.factors(e.Factors)
	w.text(e.Nursing)
}

func (r *reader) effect(e *acuity.Effect) {
	e.Kind = acuity.EffectKind(r.enum(lastEffectKind))
	e.Level = acuity.Level(r.enum(lastLevel))
	e.Prior = acuity.Level(r.enum(lastLevel))
	e.Driving = acuity.Axis(r.enum(lastAxis))
	e.Ratio = r.int()
	e.Shortfall = r.int()
	e.RoomID = r.int()
	e.RoomLabel = r.text()
	e.Color = acuity.Color(r.enum(lastColor))
	e.PriorColor = acuity.Color(r.enum(lastColor))
	e.Score = r.int()
	e.Factors = r.factors()
	e.Nursing = r.text()
}

func (w *writer) effects(list []acuity.Effect) {
	w.items(len(list))
	for i := range list {
		w.effect(&list[i])
	}
	w.done()
}

func (r *reader) effects() (list []acuity.Effect) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.effect(&list[len(list)-1])
	}
	return list
}

func (w *writer) factorChange(f *acuity.FactorChange) {
	w.int(f.RoomID)
	w.text(f.RoomLabel)
	w.factor(f.Factor)
	w.text(f.Ratio)
	w.at(f.Since)
	w.enum(uint8(f.Kind), lastEvidenceKind)
}

func (r *reader) factorChange(f *acuity.FactorChange) {
	f.RoomID = r.int()
	f.RoomLabel = r.text()
	f.Factor = r.factor()
	f.Ratio = r.text()
	f.Since = r.at()
	f.Kind = acuity.EvidenceKind(r.enum(lastEvidenceKind))
}

func (w *writer) factorChanges(list []acuity.FactorChange) {
	w.items(len(list))
	for i := range list {
		w.factorChange(&list[i])
	}
	w.done()
}

func (r *reader) factorChanges() (list []acuity.FactorChange) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.factorChange(&list[len(list)-1])
	}
	return list
}

func (w *writer) unmapped(u *acuity.Unmapped) {
	w.text(string(u.System))
	w.text(u.Code)
	w.text(u.Display)
}

func (r *reader) unmapped(u *acuity.Unmapped) {
	u.System = r.system()
	u.Code = r.text()
	u.Display = r.text()
}

func (w *writer) unmappedList(list []acuity.Unmapped) {
	w.items(len(list))
	for i := range list {
		w.unmapped(&list[i])
	}
	w.done()
}

func (r *reader) unmappedList() (list []acuity.Unmapped) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.unmapped(&list[len(list)-1])
	}
	return list
}
