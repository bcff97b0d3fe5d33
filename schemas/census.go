package schemas

import "svc/acuity"

func (w *writer) census(c *acuity.Census) {
	w.at(c.AsOf)
	w.int(c.TotalRooms)
	w.censusRooms(c.Rooms)
}

func (r *reader) census(c *acuity.Census) {
	c.AsOf = r.at()
	c.TotalRooms = r.int()
	c.Rooms = r.censusRooms()
}

func (w *writer) censusRoom(row *acuity.CensusRoom) {
	w.int(row.ID)
	w.text(row.Label)
	w.text(row.Area)
	w.enum(uint8(row.Status), lastRoomStatus)
	w.text(row.Visit)
	w.octet(row.Class)
	w.text(row.Service)
	w.factor(row.Primary)
	w.at(row.PrimarySince)
	w.at(row.DeliveredAt)
	w.bool(row.Cesarean)
	w.bool(row.HasModifiers)
	w.factors(row.Modifiers)
	w.bool(row.HasDiagnoses)
	w.diagnoses(row.Diagnoses)
	w.bool(row.HasNewborns)
	w.censusNewborns(row.Newborns)
}

func (r *reader) censusRoom(row *acuity.CensusRoom) {
	row.ID = r.int()
	row.Label = r.text()
	row.Area = r.text()
	row.Status = acuity.RoomStatus(r.enum(lastRoomStatus))
	row.Visit = r.text()
	row.Class = r.octet()
	row.Service = r.text()
	row.Primary = r.factor()
	row.PrimarySince = r.at()
	row.DeliveredAt = r.at()
	row.Cesarean = r.bool()
	row.HasModifiers = r.bool()
	row.Modifiers = r.factors()
	row.HasDiagnoses = r.bool()
	row.Diagnoses = r.diagnoses()
	row.HasNewborns = r.bool()
	row.Newborns = r.censusNewborns()
}

func (w *writer) censusRooms(list []acuity.CensusRoom) {
	w.items(len(list))
	for i := range list {
		w.censusRoom(&list[i])
	}
	w.done()
}

func (r *reader) censusRooms() (list []acuity.CensusRoom) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.censusRoom(&list[len(list)-1])
	}
	return list
}

func (w *writer) censusNewborn(c *acuity.CensusNewborn) {
	w.text(c.Visit)
	w.factor(c.Primary)
}

func (r *reader) censusNewborn(c *acuity.CensusNewborn) {
	c.Visit = r.text()
	c.Primary = r.factor()
}

func (w *writer) censusNewborns(list []acuity.CensusNewborn) {
	w.items(len(list))
	for i := range list {
		w.censusNewborn(&list[i])
	}
	w.done()
}

func (r *reader) censusNewborns() (list []acuity.CensusNewborn) {
	for l := r.items(); l.next(r); {
		list = extend(list, l)
		r.censusNewborn(&list[len(list)-1])
	}
	return list
}
