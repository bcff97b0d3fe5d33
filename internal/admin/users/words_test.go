package users

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestWordsOfBodies: the values that the API documentation lists for a field are exactly the values that svc accepts.
func TestWordsOfBodies(t *testing.T) {
	var roles []string
	for _, role := range Roles() {
		roles = append(roles, string(role))
	}
	for _, c := range []struct {
		body  reflect.Type
		field string
		want  []string
	}{
		{reflect.TypeFor[changeShape](), "Role", roles},
		{reflect.TypeFor[inviteShape](), "Role", roles},
		{reflect.TypeFor[inviteShape](), "TTL", Lifetimes()},
	} {
		f, _ := c.body.FieldByName(c.field)
		if words := strings.Split(f.Tag.Get("enum"), ","); !slices.Equal(words, c.want) {
			t.Errorf("%s.%s may be %q, want %q", c.body.Name(), c.field, words, c.want)
		}
	}
}
