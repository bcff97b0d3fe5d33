package hl7

import (
	"bytes"

	"svc/acuity"
)

// where reads the locations.
func (d *decoder) where() {
	assigned := d.field(d.pv1, 3)
	if isNull(assigned) {
		d.event.PlaceNull = true
	} else {
		d.event.Place = d.place(assigned, position{segment: "PV1", field: 3})
	}
	d.event.Prior = d.place(d.field(d.pv1, 6), position{segment: "PV1", field: 6})
}

func (d *decoder) place(field []byte, at position) acuity.Location {
	if blank(field) {
		return acuity.Location{}
	}
	read := func(b []byte) string {
		b = d.id(b, at)
		if len(b) > maxPlace {
			d.warnAt(warnLocationCut, at)
			b = bytes.TrimSpace(bytes.ToValidUTF8(b[:maxPlace], nil))
		}
		return d.keep(b)
	}
	var parts [4][]byte
	d.split(field, parts[:])
	return acuity.Location{
		PointOfCare: read(d.pointOfCare(parts[0])),
		Room:        read(parts[1]),
		Bed:         read(parts[2]),
		Facility:    read(part(parts[3], d.subcomponent, 1)),
	}
}

// pointOfCare reads a point of care. It may be an HD (name & id & type); then only the
// name counts. Or it is a name with an unescaped ampersand, such as L&D.
func (d *decoder) pointOfCare(b []byte) []byte {
	if d.subcomponent == 0 || bytes.IndexByte(b, d.subcomponent) < 0 {
		return b
	}
	if hierarchic[string(part(b, d.subcomponent, 3))] || isOID(part(b, d.subcomponent, 2)) {
		return part(b, d.subcomponent, 1)
	}
	return b
}

// hierarchic are the types of an HD (HL7 table 0301).
var hierarchic = map[string]bool{
	"ISO": true, "GUID": true, "UUID": true, "DNS": true, "HCD": true, "CLIA": true, "CLIP": true, "CAP": true,
	"EUI64": true, "HL7": true, "L": true, "M": true, "N": true, "Random": true, "URI": true, "x400": true, "x500": true,
}

func isOID(b []byte) bool {
	dots := 0
	for _, c := range b {
		if c == '.' {
			dots++
		} else if !digit(c) {
			return false
		}
	}
	return dots >= 2
}
