package fhir

import (
	"encoding/json"
	"testing"
)

const benchBytes = 2_000_000

// BenchmarkDecode reads a transaction Bundle of 2 MB to facts. It also measures the
// standard library on the same bytes, and a scan that only checks them.
func BenchmarkDecode(b *testing.B) {
	body := largeBundle(1, benchBytes)
	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
	o := options()
	o.Pseudonym = func(_, value string) string { return value } // real pseudonyms are measured elsewhere
	run("facts", func() {
		if _, fault := Decode(body, o); fault != nil {
			b.Fatal(fault)
		}
	})
	run("scan", func() {
		if !skips(body) {
			b.Fatal("not JSON")
		}
	})
	run("bytes", func() { // the cost of only looking at each byte
		n := 0
		for _, c := range body {
			if c == '"' {
				n++
			}
		}
		if n == 0 {
			b.Fatal("no strings")
		}
	})
	run("json-any", func() {
		var value any
		if err := json.Unmarshal(body, &value); err != nil {
			b.Fatal(err)
		}
	})
	run("json-valid", func() {
		if !json.Valid(body) {
			b.Fatal("not JSON")
		}
	})
}
