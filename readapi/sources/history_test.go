package sources

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"svc/acuity/forecast"
	"svc/readapi"
	"svc/schemas"
)

// TestModelOfAnotherRelease: a model from another release, which can exist while svc is being updated, is reported as
// temporarily unavailable. It is not reported as missing history.
func TestModelOfAnotherRelease(t *testing.T) {
	m := new(schemas.Model)
	m.CopyFrom(forecast.NewModel("north"))
	encoded := func() []byte {
		value, err := schemas.ModelCodec.Encode(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	if got, err := decodeModel(encoded()); err != nil || !reflect.DeepEqual(got, forecast.NewModel("north")) {
		t.Errorf("of this release: %v", err)
	}
	m.Version++
	if got, err := decodeModel(encoded()); got != nil || !errors.Is(err, readapi.ErrAway) {
		t.Errorf("of another release: %v, error %v", got, err)
	}
	if _, err := decodeModel([]byte("no record")); err == nil || errors.Is(err, readapi.ErrAway) {
		t.Errorf("of no record: %v", err)
	}
}

// TestTrendsBefore1970: for hours before 1970, writtenSince returns the zero time, because negative timestamps have
// special meanings in Kafka.
func TestTrendsBefore1970(t *testing.T) {
	for since, want := range map[time.Time]time.Time{
		{}:                          {},
		time.Unix(-86_400, 0):       {},
		time.Unix(0, 0):             {},
		time.Unix(3_600, 0):         {},
		time.Unix(3_601, 0):         time.Unix(1, 0),
		time.Unix(2_000_000_000, 0): time.Unix(1_999_996_400, 0),
	} {
		if got := writtenSince(since); !got.Equal(want) {
			t.Errorf("since %v: %v, want %v", since, got, want)
		}
	}
}
