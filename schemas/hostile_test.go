package schemas

import (
	"encoding/hex"
	"errors"
	"math"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// TestEveryPrefixIsRefused: a truncated record is refused, and so is a record with an additional byte at the end.
func TestEveryPrefixIsRefused(t *testing.T) {
	eachRecord(t, func(t *testing.T, r record) {
		t.Helper()
		b, err := r.encode(nil, r.example())
		if err != nil {
			t.Fatal(err)
		}
		for n := range b {
			if _, err := r.decode(b[:n]); !errors.Is(err, ErrMalformed) {
				t.Fatalf("the first %d of %d bytes: err = %v, want ErrMalformed", n, len(b), err)
			}
		}
		if _, err := r.decode(append(b, 0)); !errors.Is(err, ErrMalformed) {
			t.Errorf("one byte more: err = %v, want ErrMalformed", err)
		}
	})
}

// TestHostileNumbersCostNothing puts hostile numbers at every position in every record, where they may be decoded as
// a length, a count, a block size, a branch or a symbol. The decoder may refuse the bytes or return a value, but it
// must not allocate more than a small multiple of the length of the input (GO-2026-5046, -5047, -5048).
func TestHostileNumbersCostNothing(t *testing.T) {
	var numbers [][]byte
	for _, n := range []int64{-1, -2, 1 << 20, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, -(1 << 40)} {
		w := writer{}
		w.long(n)
		numbers = append(numbers, w.buf)
	}
	block := writer{} // a block in the long form: item count, then size in bytes
	block.long(math.MinInt64)
	block.long(math.MaxInt64)
	numbers = append(numbers, block.buf, []byte(strings.Repeat("\xff", 12)))

	eachRecord(t, func(t *testing.T, r record) {
		t.Helper()
		good, err := r.encode(nil, r.example())
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tries := 0
		for at := headerSize; at < len(good); at++ {
			for _, number := range numbers {
				for _, rest := range [][]byte{nil, good[at+1:]} {
					b := append(append(append([]byte{}, good[:at]...), number...), rest...)
					if v, err := r.decode(b); err == nil {
						if _, err = r.encode(nil, v); err != nil {
							t.Fatalf("%x is decoded to what cannot be: %v", b, err)
						}
					}
					tries++
				}
			}
		}
		runtime.ReadMemStats(&after)
		// Decoding allocates a copy of the bytes, the value, and an error. Their total size is a small multiple of
		// the input's size.
		each := (after.TotalAlloc - before.TotalAlloc) / uint64(tries)
		if limit := uint64(20*len(good) + 16<<10); each > limit {
			t.Errorf("%d bytes allocated for each, want at most %d", each, limit)
		}
	})
}

// TestLongFormOfBlocks decodes a list in an encoding that other libraries may use: several blocks, each preceded by
// its size.
func TestLongFormOfBlocks(t *testing.T) {
	w := writer{}
	w.long(-2)
	w.long(2)
	w.long(1)
	w.long(2)
	w.long(1)
	w.long(3)
	w.long(-1)
	w.long(1)
	w.long(4)
	w.done()
	c := Coder{reading: true, r: reader{buf: w.buf}}
	var got []int32
	if List(&c, &got, (*Coder).Int); !reflect.DeepEqual(got, []int32{1, 2, 3, 4}) || c.r.fault != "" || c.r.pos != len(w.buf) {
		t.Errorf("ints = %v, fault %q at %d of %d", got, c.r.fault, c.r.pos, len(w.buf))
	}
}

// TestFaultsHoldNoValues decodes damaged records in which every text field contains a canary. No error may contain
// the canary.
func TestFaultsHoldNoValues(t *testing.T) {
	eachRecord(t, func(t *testing.T, r record) {
		t.Helper()
		v := reflect.New(reflect.TypeOf(r.value))
		filled(canary{&counted{}}, r.schema.Record, v.Elem())
		good, err := r.encode(nil, v.Interface())
		if err != nil {
			t.Fatal(err)
		}
		for at := headerSize; at < len(good); at++ {
			b := append([]byte{}, good...)
			b[at] ^= 0xFF
			if _, err := r.decode(b); err != nil && strings.Contains(err.Error(), "canary") {
				t.Fatalf("byte %d: %v", at, err)
			}
		}
	})
}

type canary struct{ *counted }

func (canary) text(string) string { return "canary" }

func TestWhatCannotBeRead(t *testing.T) {
	for name, set := range map[string]func(v reflect.Value){
		"text longer than the limit":   func(v reflect.Value) { v.FieldByName("Hospital").SetString(strings.Repeat("x", maxText+1)) },
		"enumeration out of range":     func(v reflect.Value) { v.FieldByName("Level").SetUint(uint64(lastLevel) + 1) },
		"factor out of the catalogue":  func(v reflect.Value) { v.FieldByName("Active").Index(0).SetUint(255) },
		"record longer than the limit": func(v reflect.Value) { v.FieldByName("Warnings").Set(manyWarnings()) },
	} {
		t.Run(name, func(t *testing.T) {
			r := records[1] // the kind of record named "change"
			v := r.example()
			set(reflect.ValueOf(v).Elem())
			b, err := r.encode([]byte("before"), v)
			if err == nil {
				t.Fatal("is encoded")
			}
			if string(b) != "before" {
				t.Errorf("the buffer holds %d bytes after the fault, want those before", len(b))
			}
		})
	}
}

func manyWarnings() reflect.Value {
	v := reflect.New(reflect.TypeOf(records[1].value)).Elem().FieldByName("Warnings")
	one := reflect.New(v.Type().Elem()).Elem()
	one.FieldByName("Code").SetString(strings.Repeat("x", maxText))
	list := reflect.MakeSlice(v.Type(), 0, maxRecord/maxText+1)
	for range maxRecord/maxText + 1 {
		list = reflect.Append(list, one)
	}
	return list
}

func TestForeignText(t *testing.T) {
	w := writer{}
	w.text("a\xffb")
	r := reader{buf: w.buf}
	if got := r.text(); got != "a\uFFFDb" {
		t.Errorf("text = %q", got)
	}
}

func TestUnknownFactorIsRefused(t *testing.T) {
	w := writer{}
	w.text("no-such-factor")
	r := reader{buf: w.buf}
	if f := r.factor(); f != 0 || r.fault == "" {
		t.Errorf("factor = %d, fault %q", f, r.fault)
	}
}

// fuzzRecord checks three properties for arbitrary bytes: decoding does not panic; a decoded value can be encoded and
// decodes to the same value; and bytes that can be decoded are valid according to the schema.
func fuzzRecord(f *testing.F, name string) {
	f.Helper()
	var r record
	for _, one := range records {
		if one.schema.Record == name {
			r = one
		}
	}
	schema := parsedSchema(f, r.schema)
	seed, err := hex.DecodeString(strings.TrimSpace(goldenText(f, fileName(*r.schema, "golden"))))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed[headerSize:])
	f.Add(seed[headerSize : headerSize+(len(seed)-headerSize)/2])
	empty, err := r.encode(nil, reflect.New(reflect.TypeOf(r.value)).Interface())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(empty[headerSize:])
	f.Fuzz(func(t *testing.T, payload []byte) {
		v, err := r.decode(append(appendHeader(nil, r.schema.ID), payload...))
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("err = %v, want ErrMalformed", err)
			}
			return
		}
		walk := reader{buf: payload}
		if check(&walk, schema); walk.fault != "" || walk.pos != len(payload) {
			t.Fatalf("decoded, but not by the schema: %q at %d", walk.fault, walk.where)
		}
		b, err := r.encode(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := r.encode(nil, again); err != nil || string(twice) != string(b) {
			t.Fatalf("encoded twice\n%x\n%x (%v)", b, twice, err)
		}
	})
}

func FuzzObservation(f *testing.F)    { fuzzRecord(f, "observation") }
func FuzzChange(f *testing.F)         { fuzzRecord(f, "change") }
func FuzzUnitChart(f *testing.F)      { fuzzRecord(f, "unit-chart") }
func FuzzRoomChart(f *testing.F)      { fuzzRecord(f, "room-chart") }
func FuzzUnitState(f *testing.F)      { fuzzRecord(f, "unit-state") }
func FuzzRoomState(f *testing.F)      { fuzzRecord(f, "room-state") }
func FuzzVisitState(f *testing.F)     { fuzzRecord(f, "visit-state") }
func FuzzStatementState(f *testing.F) { fuzzRecord(f, "statement-state") }
func FuzzDedupState(f *testing.F)     { fuzzRecord(f, "dedup-state") }
func FuzzMappingState(f *testing.F)   { fuzzRecord(f, "mapping-state") }
func FuzzCodeState(f *testing.F)      { fuzzRecord(f, "code-state") }
func FuzzKey(f *testing.F)            { fuzzRecord(f, "key") }
func FuzzLedgerEvent(f *testing.F)    { fuzzRecord(f, "ledger-event") }
func FuzzDelivery(f *testing.F)       { fuzzRecord(f, "delivery") }
func FuzzEndpointQueue(f *testing.F)  { fuzzRecord(f, "endpoint-queue") }
func FuzzNotifiedUnit(f *testing.F)   { fuzzRecord(f, "notified-unit") }
func FuzzOrder(f *testing.F)          { fuzzRecord(f, "order") }
func FuzzAlertRun(f *testing.F)       { fuzzRecord(f, "alert-run") }
func FuzzHospital(f *testing.F)       { fuzzRecord(f, "hospital") }
func FuzzDeadLetter(f *testing.F)     { fuzzRecord(f, "dead-letter") }
func FuzzRuleState(f *testing.F)      { fuzzRecord(f, "rule-state") }
func FuzzReferenceState(f *testing.F) { fuzzRecord(f, "reference-state") }
func FuzzPlaceState(f *testing.F)     { fuzzRecord(f, "place-state") }
func FuzzSwitchesState(f *testing.F)  { fuzzRecord(f, "switches-state") }
func FuzzPastStaffing(f *testing.F)   { fuzzRecord(f, "past-staffing-state") }
func FuzzAudit(f *testing.F)          { fuzzRecord(f, "audit") }
func FuzzWebhook(f *testing.F)        { fuzzRecord(f, "webhook") }
func FuzzAlertTier(f *testing.F)      { fuzzRecord(f, "alert-tier") }
func FuzzSnapshot(f *testing.F)       { fuzzRecord(f, "snapshot") }
func FuzzModel(f *testing.F)          { fuzzRecord(f, "model") }
func FuzzInstalledKey(f *testing.F)   { fuzzRecord(f, "installed-key") }
func FuzzWall(f *testing.F)           { fuzzRecord(f, "wall") }
func FuzzSession(f *testing.F)        { fuzzRecord(f, "session") }
func FuzzLayout(f *testing.F)         { fuzzRecord(f, "layout") }
func FuzzLink(f *testing.F)           { fuzzRecord(f, "link") }
func FuzzUser(f *testing.F)           { fuzzRecord(f, "user") }
func FuzzAlertRecipient(f *testing.F) { fuzzRecord(f, "alert-recipient") }

// TestEveryRecordIsFuzzed: this file has a fuzz target for every record.
func TestEveryRecordIsFuzzed(t *testing.T) {
	source, err := os.ReadFile("hostile_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if !strings.Contains(string(source), `fuzzRecord(f, "`+r.schema.Record+`")`) {
			t.Errorf("%s has no fuzz target", r.schema.Record)
		}
	}
}

// FuzzHeader decodes arbitrary bytes as each kind of record. The result must be a value, [ErrMalformed] or an
// [UnknownSchemaError].
func FuzzHeader(f *testing.F) {
	for _, r := range records {
		f.Add(appendHeader(nil, r.schema.ID))
	}
	f.Add([]byte{0xC3, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, r := range records {
			v, err := r.decode(b)
			var unknown *UnknownSchemaError
			if err != nil && !errors.Is(err, ErrMalformed) && !errors.As(err, &unknown) {
				t.Fatal(err)
			}
			if err == nil && reflect.ValueOf(v).IsNil() {
				t.Fatal("neither a value nor an error")
			}
		}
		if _, err := PeekChange(b); err != nil {
			if _, whole := ChangeCodec.Decode(b); whole == nil {
				t.Fatalf("the head is refused, the change is not: %v", err)
			}
		}
	})
}
