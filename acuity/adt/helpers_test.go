package adt

import (
	"testing"

	"svc/acuity/catalogue"
)

func mustFactor(t testing.TB, id string) catalogue.Factor {
	t.Helper()
	f, ok := catalogue.FactorByID(id)
	if !ok {
		t.Fatalf("unknown factor %q", id)
	}
	return f
}
