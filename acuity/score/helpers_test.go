package score

import (
	"testing"

	"pgregory.net/rapid"

	"svc/acuity/catalogue"
)

func pick[T any](t *rapid.T, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, label)
}

func factor(id string) catalogue.Factor {
	f, _ := catalogue.FactorByID(id)
	return f
}

func mustFactor(t testing.TB, id string) catalogue.Factor {
	t.Helper()
	f, ok := catalogue.FactorByID(id)
	if !ok {
		t.Fatalf("unknown factor %q", id)
	}
	return f
}
