// Package cataloguetest looks up factors by id for tests.
package cataloguetest

import (
	"testing"

	"svc/acuity/catalogue"
)

// Factor returns the factor with the given id. The test fails if the id is unknown.
func Factor(t testing.TB, id string) catalogue.Factor {
	t.Helper()
	f, ok := catalogue.FactorByID(id)
	if !ok {
		t.Fatalf("unknown factor %q", id)
	}
	return f
}
