package readapi

import (
	"strconv"

	"svc/acuity"
)

// decimal is a number of so many decimal places, written without those that
// are zero: {850, 2} is 8.5. No float is involved.
type decimal struct {
	units  int64
	places int
}

// MarshalJSON writes the number.
func (d decimal) MarshalJSON() ([]byte, error) {
	units, places := d.units, d.places
	for places > 0 && units%10 == 0 {
		units /= 10
		places--
	}
	text := strconv.AppendInt(nil, units, 10)
	if places == 0 {
		return text, nil
	}
	digits := 0 // of the sign
	if units < 0 {
		digits = 1
	}
	for len(text)-digits <= places {
		text = append(text[:digits], append([]byte{'0'}, text[digits:]...)...)
	}
	point := len(text) - places
	return append(text[:point], append([]byte{'.'}, text[point:]...)...), nil
}

// nurses is a demand in nurses, half up to two places.
func nurses(d acuity.Demand) decimal {
	return decimal{(int64(d)*100 + int64(acuity.Nurse)/2) / int64(acuity.Nurse), 2}
}
