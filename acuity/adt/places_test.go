package adt

import "testing"

// An obstetric service with a numeric code does not make a patient a boarder. Of the service's name, only the word
// that identifies the area is stored.
func TestService(t *testing.T) {
	for _, c := range []struct {
		code  string
		names []string
		want  string
	}{
		{"obs", nil, "OBS"},
		{"obs", []string{"Surgery"}, "OBS"},
		{"108", nil, "108"},
		{"108", []string{"Obstetrics"}, "OBSTETRICS"},
		{"108", []string{"", "Service of Dr One, Labor/Delivery"}, "LABOR"},
		{"108", []string{"L&D"}, "L&D"},
		{"NB", []string{"Pediatrics, OB unit"}, "NB"},
		{"", []string{"Service d’obstétrique, OB"}, "OBST"},
		{"a108", []string{"Service of Dr One"}, "A108"},
		{"", []string{"Dr One"}, ""},
	} {
		if got := Service(c.code, c.names...); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.code, c.names, got, c.want)
		}
	}
}
