package terminology

import (
	"fmt"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Many of 20,000 rows are looked up, one after the other: by their code, by a prefix,
// and unknown codes.
func BenchmarkMappingFind(b *testing.B) {
	var rows []acuity.Mapping
	byKind := map[string][]string{}
	for i := range 20_000 {
		code := fmt.Sprintf("LOCAL-%05d", i)
		byKind["unknown"] = append(byKind["unknown"], "LOCAL-9"+code[6:])
		if i%100 == 0 {
			code = strings.TrimSuffix(code, "0") + "X*"
			byKind["prefix"] = append(byKind["prefix"], code[:len(code)-1]+"1")
		} else {
			byKind["code"] = append(byKind["code"], code)
		}
		m := acuity.Mapping{System: codes.SystemLocal, Code: code, Factor: 1, Op: codes.GreaterOrEqual * codes.Comparator(i%2), Than: 1}
		m.ID = MappingID(&m)
		rows = append(rows, m)
	}
	maps := NewMappings(rows)
	for name, list := range byKind {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				maps.find(codes.SystemLocal, list[i*7919%len(list)], catalogue.KindObservation)
			}
		})
	}
}
