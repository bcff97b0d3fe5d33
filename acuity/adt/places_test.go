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

// "Medical Center" names a hospital, and a unit for women or families is a maternity unit, even with patients of another
// specialty.
func TestUnitsOutside(t *testing.T) {
	for name, want := range map[string]struct{ outside, begins, medical bool }{
		"ICU 4":                   {true, true, false},
		"MEDSURG":                 {true, true, true},
		"Med/Surg 4":              {true, true, true},
		"MED":                     {true, true, true},
		"ER":                      {true, true, false},
		"Med Ctr ICU":             {true, true, false},
		"Main ICU":                {true, false, false},
		"Mercy Med Center Surg":   {true, false, true},
		"MEDICAL":                 {false, false, true},
		"Medical Center Medical":  {false, false, true},
		"Medina":                  {false, false, true},
		"Mercy Medical Center 3W": {},
		"med centre":              {},
		"MED CTR":                 {},
		"MED OF CTR":              {true, true, true},
		"MEDIA":                   {},
		"5N":                      {},
		"":                        {},
		"3W MED/SURG/WOMEN":       {},
		"ICU Mother-Baby":         {},
		"Family Med":              {},
		"Med Maternal":            {},
		"OB-ED":                   {},
		"ED TRIAGE":               {true, true, false},
		"Emergency Dept":          {true, true, false},
		"SICU IMC":                {true, true, false},
		"MICU":                    {true, true, false},
		"SURG PACU":               {true, true, false},
		"5 EAST SURG OR":          {true, false, false},
		"OB EMERGENCY":            {},
		"OBTRIAGE ED":             {},
		"TRIAGE":                  {},
		"PACU":                    {},
	} {
		outside, known := IsOutside(name)
		if outside != want.outside || BeginsOutside(name) != want.begins || IsMedical(name) != want.medical || outside && !known {
			t.Errorf("%q: outside %v (known %v), begins %v, medical %v", name, outside, known, BeginsOutside(name), IsMedical(name))
		}
	}
	if _, known := IsOutside("Women 4"); !known {
		t.Error("women are unknown")
	}
}
