package subscribers

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"svc/internal/outbound"
)

// TestWordsOfBodies: the documented values of fields are the values that svc accepts.
func TestWordsOfBodies(t *testing.T) {
	selections := []string{string(outbound.SelectFailed), string(outbound.SelectMissing), string(outbound.SelectAll)}
	for _, c := range []struct {
		body  reflect.Type
		field string
		want  []string
	}{
		{reflect.TypeFor[webhookShape](), "Events", eventNames},
		{reflect.TypeFor[webhookChangeShape](), "Events", eventNames},
		{reflect.TypeFor[testShape](), "Event", eventNames},
		{reflect.TypeFor[replayShape](), "Events", eventNames[1:]},
		{reflect.TypeFor[replayShape](), "Only", selections},
		{reflect.TypeFor[tierShape](), "Channels", channelNames},
		{reflect.TypeFor[alertTestShape](), "Channel", channelNames},
	} {
		f, _ := c.body.FieldByName(c.field)
		if words := strings.Split(f.Tag.Get("enum"), ","); !slices.Equal(words, c.want) {
			t.Errorf("%s.%s may be %q, want %q", c.body.Name(), c.field, words, c.want)
		}
	}
}
