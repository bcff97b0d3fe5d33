package fhir

import (
	"encoding/json"
	"testing"
)

const benchBytes = 2_000_000

// BenchmarkDecode decodes a transaction Bundle of 2 MB into facts. For comparison, it measures the
// standard library and a scan that only checks the syntax, on the same bytes.
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
	o.Pseudonym = func(_, value string) string { return value } // the cost of real pseudonyms is measured in BenchmarkFacts
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
	run("bytes", func() { // the cost of one comparison per byte
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
