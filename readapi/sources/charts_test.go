package sources

import (
	"errors"
	"testing"

	"svc/acuity"
	"svc/readapi"
	"svc/schemas"
)

// TestChartOfANewerRelease: a chart that a newer release wrote is reported as unavailable. A damaged chart is
// reported as an error.
func TestChartOfANewerRelease(t *testing.T) {
	unit, err := schemas.UnitChartCodec.Encode(nil, &acuity.UnitChart{})
	if err != nil {
		t.Fatal(err)
	}
	room, err := schemas.RoomChartCodec.Encode(nil, &acuity.RoomChart{})
	if err != nil {
		t.Fatal(err)
	}
	const header = 5 // a zero byte and the id of the schema
	for what, c := range map[string]struct {
		record []byte
		decode func(string) error
	}{
		"unit": {unit, func(s string) error { return Charts{}.DecodeUnit(s, &acuity.UnitChart{}) }},
		"room": {room, func(s string) error { return Charts{}.DecodeRoom(s, &acuity.RoomChart{}) }},
	} {
		if err := c.decode(string(c.record)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := c.decode("\x00\x7f\xff\xff\xff" + string(c.record[header:])); !errors.Is(err, readapi.ErrNewer) || !errors.Is(err, readapi.ErrAway) {
			t.Errorf("%s of a newer release: %v", what, err)
		}
		if err := c.decode(string(c.record[:header])); err == nil || errors.Is(err, readapi.ErrAway) {
			t.Errorf("damaged %s: %v", what, err)
		}
	}
}
