package keys

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"svc/internal/httpapi/access"
)

// TestWordsOfBodies: the documented values of fields are the values that svc accepts.
func TestWordsOfBodies(t *testing.T) {
	var scopes []string
	for _, scope := range append(access.Scopes(), access.Admin, "all") {
		scopes = append(scopes, string(scope))
	}
	for _, c := range []struct {
		body  reflect.Type
		field string
		want  []string
	}{
		{reflect.TypeFor[mintShape](), "Scopes", slices.Sorted(slices.Values(scopes))},
		{reflect.TypeFor[rotateShape](), "Overlap", slices.Sorted(maps.Keys(Overlaps))},
	} {
		f, _ := c.body.FieldByName(c.field)
		if words := strings.Split(f.Tag.Get("enum"), ","); !slices.Equal(slices.Sorted(slices.Values(words)), c.want) {
			t.Errorf("%s.%s may be %q, want %q", c.body.Name(), c.field, words, c.want)
		}
	}
}
