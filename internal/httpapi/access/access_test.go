package access

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 123456, time.UTC)

func TestMint(t *testing.T) {
	key, token := Mint(Key{Hospital: "north", Name: "reader", Scopes: []Scope{ReadUnitState, IngestADT}}, noon)
	if !regexp.MustCompile(`^svc_[0-9a-f]{64}$`).MatchString(token) {
		t.Errorf("token %q", token)
	}
	if !regexp.MustCompile(`^key_[0-9a-f]{16}$`).MatchString(key.ID) || key.Hash != Hash(token) || !key.CreatedAt.Equal(noon.Truncate(time.Millisecond)) {
		t.Errorf("key %+v", key)
	}
	if key.Prefix != token[:8] { // svc_ and 4 of the 64 digits
		t.Errorf("prefix %q", key.Prefix)
	}
	if !key.Allows(ReadUnitState) || !key.Allows(IngestADT) || key.Allows(Admin) {
		t.Errorf("scopes %v", key.Scopes)
	}
	if other, again := Mint(key, noon); again == token || other.ID == key.ID {
		t.Error("two keys are the same")
	}
}

func TestParseScopes(t *testing.T) {
	for text, want := range map[string][]Scope{
		"read:unit-state":                    {ReadUnitState},
		" admin , read:status,admin":         {Admin, ReadStatus},
		"all":                                sorted(Scopes()),
		"all,admin":                          sorted(append(Scopes(), Admin)),
		"ingest:hl7,ingest:adt,ingest:adt, ": {IngestADT, IngestHL7},
	} {
		if got, err := ParseScopes(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := ParseScopes("ingest:x,read:y,admin"); err == nil || !strings.Contains(err.Error(), "ingest:x, read:y") {
		t.Errorf("unknown scopes: %v", err)
	}
	if _, err := ParseScopes(" , "); err == nil {
		t.Error("no scope was taken")
	}
	if len(Scopes()) != 11 {
		t.Errorf("%d scopes, the interface has eleven", len(Scopes()))
	}
}

func sorted(scopes []Scope) []Scope {
	slices.Sort(scopes)
	return scopes
}

func TestLookupFollowsTheKey(t *testing.T) {
	now := noon
	r := NewRegister(func() time.Time { return now })
	key, token := Mint(Key{Hospital: "north", Scopes: []Scope{ReadStatus}}, noon)
	if _, ok := r.Lookup(token); ok {
		t.Error("an unknown token is valid")
	}
	r.SetKey(key)
	if got, ok := r.Lookup(token); !ok || got.ID != key.ID {
		t.Error("a minted token is not valid")
	}
	for name, stop := range map[string]func(*Key){
		"expired": func(k *Key) { k.ExpiresAt = noon.Add(time.Hour) },
		"revoked": func(k *Key) { k.RevokedAt = noon.Add(time.Hour) },
	} {
		changed := key
		stop(&changed)
		r.SetKey(changed)
		now = noon.Add(time.Hour - time.Millisecond)
		if _, ok := r.Lookup(token); !ok {
			t.Errorf("%s too early", name)
		}
		now = noon.Add(time.Hour)
		if _, ok := r.Lookup(token); ok {
			t.Errorf("not %s in time", name)
		}
		now = noon
	}
	r.DropKey(key.ID)
	if _, ok := r.Lookup(token); ok {
		t.Error("a dropped key is valid")
	}
	if _, ok := r.Key(key.ID); ok {
		t.Error("a dropped key is listed")
	}
}

func TestRegisterListsByHospital(t *testing.T) {
	r := NewRegister(func() time.Time { return noon })
	first, _ := Mint(Key{Hospital: "north"}, noon)
	second, _ := Mint(Key{Hospital: "north"}, noon.Add(time.Second))
	other, _ := Mint(Key{Hospital: "south"}, noon)
	for _, key := range []Key{second, other, first} {
		r.SetKey(key)
	}
	if keys := r.Keys("north"); len(keys) != 2 || keys[0].ID != first.ID || keys[1].ID != second.ID {
		t.Errorf("keys of north: %+v", keys)
	}
	if keys := r.Keys(""); len(keys) != 3 {
		t.Errorf("all keys: %+v", keys)
	}
	r.SetHospital(Hospital{ID: "south", Zone: "Europe/Zurich"})
	r.SetHospital(Hospital{ID: "north", Zone: "America/Chicago"})
	if hs := r.Hospitals(); len(hs) != 2 || hs[0].ID != "north" {
		t.Errorf("hospitals %+v", hs)
	}
	if r.Zone("south").String() != "Europe/Zurich" || r.Zone("nowhere") != time.UTC {
		t.Errorf("zones %v, %v", r.Zone("south"), r.Zone("nowhere"))
	}
	r.DropHospital("south")
	if _, ok := r.Hospital("south"); ok {
		t.Error("a dropped hospital is known")
	}
}

func TestHospitalCheck(t *testing.T) {
	if err := (&Hospital{ID: "A", Zone: ""}).Check(); err == nil || !strings.Contains(err.Error(), "id") || !strings.Contains(err.Error(), "timezone") {
		t.Errorf("both at once: %v", err)
	}
	for id, good := range map[string]bool{
		"mercy": true, "0-9": true, "a": true, strings.Repeat("a", 64): true,
		"": false, "Mercy": false, "-a": false, "a/b": false, "a b": false, strings.Repeat("a", 65): false, "unknown": false,
	} {
		if err := (&Hospital{ID: id, Zone: "UTC"}).Check(); (err == nil) != good {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, zone := range []string{"", "Nowhere/City", "CST6", "Local"} {
		if err := (&Hospital{ID: "a", Zone: zone}).Check(); err == nil {
			t.Errorf("zone %q was taken", zone)
		}
	}
}

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		rate  float64
		burst int
		want  Limit
		fault bool
	}{
		"the default":     {DefaultRate, 0, Limit{DefaultRate, DefaultBurst}, false},
		"none":            {0, 7, Limit{}, false},
		"slow":            {0.1, 0, Limit{0.1, 1}, false},
		"both":            {5, 7, Limit{5, 7}, false},
		"below zero":      {-1, 1, Limit{}, true},
		"no number":       {math.NaN(), 1, Limit{}, true},
		"endless":         {math.Inf(1), 1, Limit{}, true},
		"burst below one": {1, -1, Limit{}, true},
		"burst too large": {1, 1e9, Limit{}, true},
	} {
		if got, err := Limits(c.rate, c.burst); got != c.want || (err != nil) != c.fault {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
}

func TestLineage(t *testing.T) {
	clock := noon
	r := NewRegister(func() time.Time { return clock })
	first, _ := Mint(Key{Hospital: "north", Name: "ADT"}, noon)
	second, _ := Mint(Key{Hospital: "north", Name: "ADT", Source: first.Lineage()}, noon.Add(time.Second))
	third, _ := Mint(Key{Hospital: "north", Name: "ADT, new", Source: second.Lineage()}, noon.Add(2*time.Second))
	other, _ := Mint(Key{Hospital: "north"}, noon.Add(3*time.Second))
	foreign, _ := Mint(Key{Hospital: "south", Source: first.ID}, noon.Add(4*time.Second))
	if first.Source != first.ID || third.Lineage() != first.ID || other.Lineage() != other.ID {
		t.Errorf("lineages %q %q %q", first.Source, third.Lineage(), other.Lineage())
	}
	first.Source = "" // as in a key that is older than the field
	current := func(what, id, want string, valid bool) {
		t.Helper()
		if got, ok := r.Current(id); got.ID != want || ok != valid {
			t.Errorf("%s: %q %v, want %q %v", what, got.ID, ok, want, valid)
		}
	}
	for _, key := range []Key{third, foreign, other, first, second} { // settings may be loaded in any order
		r.SetKey(key)
	}
	for _, key := range []Key{first, second, third} {
		current("each of three", key.ID, third.ID, true)
	}
	current("alone", other.ID, other.ID, true)
	current("of another hospital", foreign.ID, foreign.ID, true)
	current("unknown", "key_0", "", false)

	source := func(hospital, id, lineage, name string) {
		t.Helper()
		if l, n, ok := r.Source(hospital, id); l != lineage || n != name || ok != (lineage != "") {
			t.Errorf("source of %q in %s: %q %q %v", id, hospital, l, n, ok)
		}
	}
	source("north", first.ID, first.ID, "ADT, new")
	source("north", third.ID, first.ID, "ADT, new")
	source("north", other.ID, other.ID, "")
	source("south", other.ID, "", "")
	source("south", first.ID, first.ID, "") // only the key foreign belongs to that hospital
	source("north", "key_0", "", "")

	r.SetHospital(Hospital{ID: "north", Zone: "UTC", Senders: []Sender{{Key: other.ID}, {Key: first.ID, OriginalMode: true}, {Key: second.ID, ProductionOnly: true}}})
	for name, tt := range map[string]struct {
		key  Key
		want Sender
	}{
		"said of the key":         {first, Sender{Key: first.ID, OriginalMode: true}},
		"said of one before":      {third, Sender{Key: second.ID, ProductionOnly: true}},
		"said of another lineage": {foreign, Sender{Key: foreign.ID}},
	} {
		if got := r.Sender(&tt.key); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}

	third.RevokedAt = noon.Add(time.Minute)
	r.SetKey(third)
	current("a revocation to come", first.ID, third.ID, true)
	clock = noon.Add(time.Hour)
	current("the newest is revoked", first.ID, second.ID, true)
	r.DropKey(second.ID)
	current("the second is forgotten", third.ID, first.ID, true)
	r.DropKey(first.ID)
	source("north", first.ID, first.ID, "ADT, new") // the register no longer has the first key
	r.SetKey(first)
	first.ExpiresAt = noon
	r.SetKey(first)
	current("none is valid", third.ID, third.ID, false)
}
