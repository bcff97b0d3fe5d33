package readapi

import (
	"strconv"

	"svc/acuity/catalogue"
)

// decimal is a number with a fixed count of decimal places, written without trailing
// zeros: {850, 2} is 8.5. No float is involved.
type decimal struct {
	units  int64
	places int
}

// MarshalJSON writes the number.
func (d decimal) MarshalJSON() (b []byte, _ error) {
	units, places := d.units, d.places
	for places > 0 && units%10 == 0 {
		units /= 10
		places--
	}
	if units < 0 {
		b, units = append(b, '-'), -units
	}
	unit := int64(1)
	for range places {
		unit *= 10
	}
	b = strconv.AppendInt(b, units/unit, 10)
	if places == 0 {
		return b, nil
	}
	b = append(b, '.')
	for rest := units % unit; unit > 1; rest %= unit {
		unit /= 10
		b = append(b, byte('0'+rest/unit)) //nolint:gosec // one digit
	}
	return b, nil
}

// nurses converts a demand to nurses, rounded half up to two places.
func nurses(d catalogue.Demand) decimal {
	return decimal{(int64(d)*100 + int64(catalogue.Nurse)/2) / int64(catalogue.Nurse), 2}
}
