package schemas

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
)

func TestKeys(t *testing.T) {
	for name, tt := range map[string]struct {
		key  Key
		want string
	}{
		"hospital":       {Key{Hospital: "st-mary"}, "st-mary"},
		"unit":           {Key{Hospital: "h", Kind: "unit"}, "h/unit"},
		"room":           {RoomKey("h", 12), "h/room/12"},
		"room 0":         {RoomKey("h", 0), "h/room/0"},
		"visit":          {Key{"h", "visit", "ab_9-"}, "h/visit/ab_9-"},
		"id with slash":  {Key{"h", KindMapping, "local/a/b"}, "h/mapping/local/a/b"},
		"dedup":          {Key{"h", "dedup", "0f"}, "h/dedup/0f"},
		"code":           {Key{"h", KindCode, "0f"}, "h/code/0f"},
		"setting":        {Key{"4-h", "key", "key_01"}, "4-h/key/key_01"},
		"setting hyphen": {Key{"h", "alert-tier", "1"}, "h/alert-tier/1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.key.String(); got != tt.want {
				t.Errorf("String = %q, want %q", got, tt.want)
			}
			if got, err := ParseKey([]byte(tt.want)); err != nil || got != tt.key {
				t.Errorf("ParseKey = %+v, %v; want %+v", got, err, tt.key)
			}
			if got := string(HospitalOf([]byte(tt.want))); got != tt.key.Hospital {
				t.Errorf("HospitalOf = %q, want %q", got, tt.key.Hospital)
			}
			if got, want := IsChange([]byte(tt.want)), tt.key.Kind == ""; got != want {
				t.Errorf("IsChange = %t, want %t", got, want)
			}
		})
	}
}

func TestForeignKeys(t *testing.T) {
	for name, key := range map[string]string{
		"nothing": "", "barrier": "\x00barrier", "upper case": "H", "leading hyphen": "-h", "leading slash": "/room/1",
		"no kind": "h/", "no kind but an id": "h//1", "no id": "h/room/", "kind of digits": "h/1/1",
		"too long": strings.Repeat("h", 65), "space": "h /unit",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := ParseKey([]byte(key)); !errors.Is(err, ErrKey) {
				t.Errorf("ParseKey = %+v, %v; want ErrKey", got, err)
			}
			if IsChange([]byte(key)) {
				t.Error("is taken for the key of a change")
			}
		})
	}
}

func TestObservationKey(t *testing.T) {
	o := acuity.Observation{Hospital: "h"}
	if got := ObservationKey(&o).String(); got != "h" {
		t.Errorf("key = %q, want h", got)
	}
	o.Room = &acuity.RoomRef{ID: 7}
	if got := ObservationKey(&o).String(); got != "h/room/7" {
		t.Errorf("key = %q, want h/room/7", got)
	}
}

// TestMurmur2 compares the hash with the values in Kafka's UtilsTest.
func TestMurmur2(t *testing.T) {
	for in, want := range map[string]int32{
		"21":                         -973932308,
		"foobar":                     -790332482,
		"a-little-bit-long-string":   -985981536,
		"a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107,
	} {
		if got := int32(murmur2([]byte(in))); got != want {
			t.Errorf("murmur2(%q) = %d, want %d", in, got, want)
		}
	}
}

func TestPartition(t *testing.T) {
	for key, want := range map[string][2]int32{ // expected partition out of 3 and out of 48
		"21":                 {((-973932308) & 0x7fffffff) % 3, ((-973932308) & 0x7fffffff) % 48},
		"foobar":             {0, 30},
		"foobar/room/12":     {0, 30},
		"foobar/visit/a/b/c": {0, 30},
		"abc/unit":           {479470107 % 3, 479470107 % 48},
	} {
		if got := [2]int32{Partition([]byte(key), 3), Partition([]byte(key), 48)}; got != want {
			t.Errorf("Partition(%q) = %v of 3 and 48, want %v", key, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int32Range(1, 1000).Draw(t, "n")
		hospital := rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,20}`).Draw(t, "hospital")
		key := Key{hospital, KindRoom, rapid.StringMatching(`[0-9]{1,10}`).Draw(t, "id")}
		whole, part := Partition([]byte(hospital), n), Partition([]byte(key.String()), n)
		if whole != part || whole < 0 || whole >= n {
			t.Fatalf("hospital in %d, its room in %d of %d", whole, part, n)
		}
	})
}

func TestTopics(t *testing.T) {
	seen := map[string]bool{}
	for _, topic := range Topics() {
		if seen[topic.Name] || !strings.HasPrefix(topic.Name, "svc.v1.") {
			t.Errorf("name %q: not ours, or there twice", topic.Name)
		}
		seen[topic.Name] = true
		if !topic.Compacted && topic.Retention == 0 {
			t.Errorf("%s grows for ever", topic.Name)
		}
	}
	if v := Verdicts(); !v.Compacted || v.CompactionLag != 7*day || v.MaxRecord != 8<<20 || v.Retention != 0 {
		t.Errorf("verdicts: %+v", v)
	}
	if d := Deliveries(); !d.Compacted || d.Retention != 90*day {
		t.Errorf("deliveries: %+v", d)
	}
	if o := Observations(); o.Compacted || !o.Copartitioned || o.MaxRecord != 8<<20 {
		t.Errorf("observations are never compacted: %+v", o)
	}
}
