package archive_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/parquet-go/parquet-go"

	"svc/acuity"
	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/archive"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/tables"
	"svc/internal/stream"
	"svc/schemas"
)

// A snapshot is exported as it was recorded, with null for unknown values.
func TestExportSnapshots(t *testing.T) {
	b := analysistest.NewKafka(t)
	full := acuity.Snapshot{
		Hour: int32(analysistest.Morning.Time().Unix() / 3600), Generation: 2, Position: 77, Backfill: 3, RulesVersion: "r1", Observed: true,
		Visits: []acuity.SnapshotVisit{{
			Visit: 0xabc, Class: acuity.StageCoupletCesarean, Age: 90, Demand: [9]uint8{60, 60, 30}, Score: [9]uint8{0, 0, 255},
		}},
		Arrivals: []acuity.SnapshotArrival{{Visit: 0xabc, Kind: acuity.ArrivesBirth}},
		Moves:    4, Occupied: 5, Rooms: 12, Boarders: 1, Class4: [9]int32{1, 0, 2}, Nurses: 0, Call: 2, Level: 3,
	}
	bare := acuity.Snapshot{Hour: full.Hour + 1, Nurses: -1}
	var records []stream.Record
	for _, s := range []*acuity.Snapshot{&full, &bare} {
		value, err := schemas.SnapshotCodec.Encode(nil, &schemas.Snapshot{Hospital: "h000", Snapshot: *s})
		if err != nil {
			t.Fatal(err)
		}
		key := []byte("h000/snapshot/" + strconv.Itoa(int(s.Hour)))
		records = append(records, stream.Record{Partition: schemas.Partition(key, analysistest.Partitions), Key: key, Value: value, Timestamp: analysistest.Morning.Time()})
	}
	torn := records[0]
	torn.Value = torn.Value[:len(torn.Value)-3]
	records = append(records, torn)
	topic := schemas.Snapshots().Name
	b.Write(topic, records)
	x := &archive.Export{
		Table: archive.Tables()[3], Topic: topic, Format: tables.Parquet,
		Source: inputlog.Committed(b.Cluster, topic),
	}
	dir := t.TempDir()
	m, err := x.Run(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if m.Counts.Rows != 2 || m.Counts.Undecoded != 1 || len(m.Files) != 1 {
		t.Fatalf("counts %+v, %d files", m.Counts, len(m.Files))
	}
	rows, err := parquet.ReadFile[tables.SnapshotRow](filepath.Join(dir, m.Files[0].Path))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`"hour":"2026-03-02T07:00:00.000Z","partition":1,"offset":0,"at":"2026-03-02T07:00:00.000Z","generation":2,"backfill":3,"position":77,"rules_version":"r1","observed":true,` +
			`"level":"red","occupied":5,"rooms":12,"boarders":1,"nurses":0,"call":"yes","moves":4,"class4":[1,0,2,0,0,0,0,0,0],` +
			`"arrivals":[{"visit":"0000000000000abc","kind":"birth"}],` +
			`"visits":[{"visit":"0000000000000abc","stage":"couplet-cesarean","age":90,"demand":[60,60,30,0,0,0,0,0,0],"score":[0,0,255,0,0,0,0,0,0]}]}`,
		`"hour":"2026-03-02T08:00:00.000Z","partition":1,"offset":1,"at":"2026-03-02T07:00:00.000Z","generation":0,"backfill":0,"position":0,"rules_version":"","observed":false,` +
			`"level":"green","occupied":0,"boarders":0,"moves":0,"class4":[0,0,0,0,0,0,0,0,0]}`,
	} {
		want = `{"hospital":"h000",` + want
		if got, err := json.Marshal(rows[i]); err != nil || string(got) != want {
			t.Errorf("row %d, %v\n got %s\nwant %s", i, err, got, want)
		}
	}
	for _, f := range tables.Formats() {
		var out bytes.Buffer
		x.Format = f
		if m, err := x.Stream(t.Context(), &out); err != nil || m.Counts.Rows != 2 || out.Len() == 0 {
			t.Errorf("%s: %v, %+v", f, err, m)
		}
	}
}
