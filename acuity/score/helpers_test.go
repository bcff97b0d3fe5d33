package score

import (
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
