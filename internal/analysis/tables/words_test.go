package tables

import (
	"reflect"
	"strings"
	"testing"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
)

// TestWordsOfDeliveries: the dictionary lists every state of a delivery and every class of an attempt.
func TestWordsOfDeliveries(t *testing.T) {
	for column, words := range map[string][]string{
		about[DeliveryRow](t, "State"): {
			string(outbound.Pending), string(outbound.Delivered), string(outbound.Rejected), string(outbound.Expired), string(outbound.Poison),
			string(outbound.Cancelled), string(outbound.Failed), string(outbound.Suppressed), string(outbound.Superseded),
		},
		about[AttemptRow](t, "Class"): {
			string(sending.ClassOK), string(sending.ClassStatus), string(sending.ClassThrottled), string(sending.ClassGone),
			string(sending.ClassRedirect), string(sending.ClassDNS), string(sending.ClassRefused), string(sending.ClassReset),
			string(sending.ClassTimeout), string(sending.ClassTLS), string(sending.ClassBlocked), string(sending.ClassSealed),
			string(sending.ClassInterrupted),
		},
	} {
		for _, word := range words {
			if !strings.Contains(column, word) {
				t.Errorf("%q does not list %s", column, word)
			}
		}
	}
}

// about returns the description of a column.
func about[R any](t *testing.T, field string) string {
	t.Helper()
	f, ok := reflect.TypeFor[R]().FieldByName(field)
	if !ok {
		t.Fatalf("there is no field %s", field)
	}
	return f.Tag.Get("about")
}
