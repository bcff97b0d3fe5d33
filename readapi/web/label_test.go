package web

import (
	"testing"

	"svc/readapi/web/text"
)

// TestLabelClass: a label that is too long for one line gets the width of its longest word, or more if its words would
// need more than three lines.
func TestLabelClass(t *testing.T) {
	for label, want := range map[string]string{
		"":                                       "",
		"L10":                                    "",
		"LDR 1":                                  "l7",
		"LDR 118":                                "l9",
		"Antepartum 3":                           "l15 d12",
		"Recuperación":                           "l14 d14",
		"High-risk antepartum 12 B":              "long d12",
		"Labor and delivery, observation room 4": "long d22",
		"MMMMMMMMMMMMMMMMMMMM":                   "long d24",
	} {
		if got := (&tile{Label: label}).LabelClass(); got != want {
			t.Errorf("%q: %q, want %q", label, got, want)
		}
	}
}

// TestKey: the key of a floor plan explains the signs that occur on the plan, and no others.
func TestKey(t *testing.T) {
	en := text.In("en")
	key := newKey(en, []area{{Rooms: []tile{{Shape: "r"}, {Class: "empty"}}}, {Rooms: []tile{{Shape: "g", Stale: true}}}})
	if len(key.Colors) != 2 || key.Colors[0].Word != "Green" || key.Colors[1].Word != "Red" || !key.Stale || key.Next {
		t.Errorf("key %+v", key)
	}
	if key = newKey(en, []area{{Rooms: []tile{{Shape: "o", Next: "14:00"}}}}); len(key.Colors) != 1 || key.Stale || !key.Next {
		t.Errorf("key %+v", key)
	}
	if key = newKey(en, []area{{Rooms: []tile{{Class: "empty"}}}}); key != nil {
		t.Errorf("key of empty rooms %+v", key)
	}
}
