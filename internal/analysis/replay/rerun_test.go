package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/replay"
	"svc/internal/analysis/tables"
	"svc/internal/stream"
)

// rerun returns the replay of the given hospitals, or of all if none are given.
func rerun(b *analysistest.Kafka, hospitals ...string) replay.Rerun {
	l := b.Log()
	return replay.Rerun{Inputs: l.Source(), Hospitals: hospitals}
}

// Two replays write the same bytes, and a replay of a time window writes only the rows of that window.
func TestReplayIsRepeatable(t *testing.T) {
	b := analysistest.NewKafka(t)
	list := analysistest.Shifts(1500, 2, time.Minute)
	b.Put(list)
	write := func(from, to time.Time) string {
		var out bytes.Buffer
		r := rerun(b, "h001")
		r.From, r.To = from, to
		rows, err := r.Write(t.Context(), replay.Output{To: &out, Format: tables.NDJSON})
		if err != nil || rows != int64(strings.Count(out.String(), "\n")) {
			t.Fatal(rows, err)
		}
		return out.String()
	}
	whole := write(time.Time{}, time.Time{})
	if whole != write(time.Time{}, time.Time{}) || len(whole) < 10_000 {
		t.Error("a second replay has other bytes")
	}
	from, to := list[500].ReceivedAt.Time(), list[1000].ReceivedAt.Time()
	var want strings.Builder
	for line := range strings.Lines(whole) {
		var row tables.VerdictRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if at := time.UnixMilli(int64(row.AppliedAt)); !at.Before(from) && at.Before(to) {
			want.WriteString(line)
		}
	}
	if part := write(from, to); part != want.String() || part == "" {
		t.Errorf("a part of %d bytes, want %d", len(part), want.Len())
	}
}

// A replay fails if requested hospitals are not in the log, whether it writes to a folder or to a single writer. The
// error names each of them.
func TestReplayOfNobody(t *testing.T) {
	b := analysistest.NewKafka(t)
	b.Put(analysistest.Shifts(100, 2, time.Minute))
	for _, c := range []struct{ hospitals, absent []string }{
		{[]string{"typo"}, []string{"typo"}},
		{[]string{"h001", "typo"}, []string{"typo"}},
		{[]string{"typo1", "h001", "typo2"}, []string{"typo1", "typo2"}},
	} {
		r := rerun(b, c.hospitals...)
		_, one := r.Write(t.Context(), replay.Output{To: io.Discard, Format: tables.NDJSON})
		_, parts := r.Write(t.Context(), replay.Output{Folder: t.TempDir(), Format: tables.NDJSON})
		for _, err := range []error{one, parts} {
			if want := replay.AbsentErrors(c.absent); err == nil || err.Error() != want.Error() {
				t.Errorf("%v: %v", c.hospitals, err)
			}
		}
	}
	r := rerun(b, "h001")
	r.From = time.Now() // a window without a change is not an error
	if rows, err := r.Write(t.Context(), replay.Output{To: io.Discard, Format: tables.NDJSON}); rows != 0 || err != nil {
		t.Error(rows, err)
	}
}

// A file contains the same rows as a single writer gets. If a replay fails, an earlier file of that name is unchanged.
func TestReplayToFile(t *testing.T) {
	b := analysistest.NewKafka(t)
	b.Put(analysistest.Shifts(100, 2, time.Minute))
	dir := t.TempDir()
	out := replay.Output{File: filepath.Join(dir, "rows.ndjson"), Format: tables.NDJSON}
	var want bytes.Buffer
	r := rerun(b, "h001")
	if _, err := r.Write(t.Context(), replay.Output{To: &want, Format: tables.NDJSON}); err != nil {
		t.Fatal(err)
	}
	for _, hospital := range []string{"h001", "typo"} {
		r.Hospitals = []string{hospital}
		_, err := r.Write(t.Context(), out)
		if (err == nil) != (hospital == "h001") {
			t.Errorf("%s: %v", hospital, err)
		}
		if got := analysistest.Folder(t, dir); len(got) != 1 || got["rows.ndjson"] != want.String() {
			t.Errorf("%s: %d files, %d bytes, want %d", hospital, len(got), len(got["rows.ndjson"]), want.Len())
		}
	}
}

// A replay of all hospitals produces the same rows for each hospital as a replay of only that hospital. Two replays
// to folders write the same bytes, and a replay to a single writer writes the same rows.
func TestReplayOfAll(t *testing.T) {
	b := analysistest.NewKafka(t)
	b.Put(analysistest.Shifts(2000, 6, time.Minute))
	rules, err := replay.ReadRules(strings.NewReader("factorId,line,text\nhigh-mag,floor,2\n"))
	if err != nil {
		t.Fatal(err)
	}
	type writer func(context.Context, replay.Output) error
	for name, of := range map[string]func(hospitals ...string) writer{
		"verdicts": func(hospitals ...string) writer {
			r := rerun(b, hospitals...)
			return func(ctx context.Context, out replay.Output) error {
				_, err := r.Write(ctx, out)
				return err
			}
		},
		"difference": func(hospitals ...string) writer {
			d := &replay.Diff{Rerun: rerun(b, hospitals...)}
			d.Rules = rules
			return func(ctx context.Context, out replay.Output) error {
				_, err := d.Write(ctx, out)
				return err
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, again := filepath.Join(t.TempDir(), "out"), t.TempDir()
			if err := of()(t.Context(), replay.Output{Folder: dir, Format: tables.NDJSON}); err != nil {
				t.Fatal(err)
			}
			if err := of()(t.Context(), replay.Output{Folder: again, Format: tables.NDJSON}); err != nil {
				t.Fatal(err)
			}
			parts := analysistest.Folder(t, dir)
			if len(parts) != analysistest.Partitions || !maps.Equal(parts, analysistest.Folder(t, again)) {
				t.Errorf("%d parts, or other ones the second time", len(parts))
			}
			if err := of()(t.Context(), replay.Output{Folder: dir, Format: tables.NDJSON}); !errors.Is(err, replay.ErrFolder) {
				t.Errorf("into a folder that holds something: %v", err)
			}
			var whole, joined bytes.Buffer
			if err := of()(t.Context(), replay.Output{To: &whole, Format: tables.NDJSON}); err != nil {
				t.Fatal(err)
			}
			of6 := map[string]*strings.Builder{}
			for _, part := range slices.Sorted(maps.Keys(parts)) {
				joined.WriteString(parts[part])
				for line := range strings.Lines(parts[part]) {
					var row struct{ Hospital string }
					if err := json.Unmarshal([]byte(line), &row); err != nil {
						t.Fatal(err)
					}
					if of6[row.Hospital] == nil {
						of6[row.Hospital] = &strings.Builder{}
					}
					of6[row.Hospital].WriteString(line)
				}
			}
			if whole.String() != joined.String() || len(of6) != 6 {
				t.Errorf("to one writer other rows, or of %d hospitals", len(of6))
			}
			for hospital, rows := range of6 {
				var alone bytes.Buffer
				if err := of(hospital)(t.Context(), replay.Output{To: &alone, Format: tables.NDJSON}); err != nil {
					t.Fatal(err)
				}
				if alone.String() != rows.String() {
					t.Errorf("%s has other rows alone", hospital)
				}
			}
		})
	}
}

// diff compares a replay with the recorded changes of a processor.
func diff(l *analysistest.Processed, b *analysistest.Kafka, rules replay.Override, hospitals ...string) (rows []replay.DiffRow, summary *replay.DiffSummary) {
	l.TB.Helper()
	v := l.Verifier(b)
	d := &replay.Diff{Rerun: rerun(b, hospitals...), Changes: v.Changes}
	d.Rules = rules
	var out bytes.Buffer
	summary, err := d.Write(l.TB.Context(), replay.Output{To: &out, Format: tables.NDJSON})
	if err != nil {
		l.TB.Fatal(err)
	}
	for line := range bytes.Lines(out.Bytes()) {
		var row replay.DiffRow
		if err := json.Unmarshal(line, &row); err != nil {
			l.TB.Fatal(err)
		}
		rows = append(rows, row)
	}
	if summary.Rows != int64(len(rows)) {
		l.TB.Errorf("%d rows, said to be %d", len(rows), summary.Rows)
	}
	return rows, summary
}

// A replay with unchanged rules finds no difference. If the recorded level of one change is wrong, the replay reports
// the hour of that change. With a different rule, axes and rooms differ.
func TestReplayDiff(t *testing.T) {
	list := analysistest.Shifts(2400, 3, 40*time.Second)
	l := analysistest.Live(t, list)
	b := analysistest.NewKafka(t)
	l.Verify(b)
	if rows, s := diff(l, b, nil, analysistest.Victim); len(rows) != 0 || s.Hours != 0 {
		t.Errorf("%d rows without a difference, first %+v; %+v", len(rows), rows[:min(len(rows), 3)], s)
	}

	if rows, _ := diff(l, b, nil); len(rows) != 0 {
		t.Errorf("of all hospitals %d rows without a difference, first %+v", len(rows), rows[0])
	}

	spoilt := analysistest.Live(t, list)
	p, i, next := spoilt.Pair(func(c, n *acuity.Change) bool {
		return n.AppliedAt-c.AppliedAt > 60_000 && c.AppliedAt/3_600_000 == n.AppliedAt/3_600_000
	})
	c, n := spoilt.Change(p, i), spoilt.Change(p, next)
	wrong := (c.Level + 1) % 4
	spoilt.Edit(p, i, func(c *acuity.Change) { c.Level = wrong })
	b2 := analysistest.NewKafka(t)
	spoilt.Verify(b2)
	rows, _ := diff(spoilt, b2, nil)
	want := float64((n.AppliedAt-c.AppliedAt)/1000) / 60
	if len(rows) != 1 || rows[0].Subject != "level" || rows[0].Minutes != want || rows[0].Hour != tables.Moment(c.AppliedAt-c.AppliedAt%3_600_000) {
		t.Errorf("rows %+v, want one of %v minutes", rows, want)
	}

	rules, err := replay.ReadRules(strings.NewReader("factorId,line,text\nhigh-mag,floor,2\nhigh-mag,class,4\n"))
	if err != nil {
		t.Fatal(err)
	}
	rows, _ = diff(l, b, rules, analysistest.Victim)
	kinds := map[string]int{}
	for _, row := range rows {
		kinds[row.Subject]++
		if row.Minutes <= 0 || row.Minutes > 60 {
			t.Errorf("row %+v", row)
		}
	}
	if kinds["axis"] == 0 || kinds["room"] == 0 {
		t.Errorf("magnesium at 2:1 changes %v", kinds)
	}
}

// A comparison that cannot begin leaves no file, so the same folder can be used again.
func TestReplayDiffLeavesNoFile(t *testing.T) {
	b := analysistest.NewKafka(t)
	b.Put(analysistest.Shifts(30, 1, time.Minute))
	away := errors.New("away")
	d := &replay.Diff{Rerun: rerun(b, "h000"), Changes: inputlog.Source{
		Spans: func(context.Context, time.Time, time.Time) ([]stream.Span, error) { return nil, away },
		Read:  func(context.Context, stream.Span, func(stream.Record) error) error { return away },
	}}
	dir := t.TempDir()
	if _, err := d.Write(t.Context(), replay.Output{Folder: dir, Format: tables.NDJSON}); !errors.Is(err, away) {
		t.Fatal(err)
	}
	if files := analysistest.Folder(t, dir); len(files) != 0 {
		t.Errorf("the folder has %d files", len(files))
	}
}

// The log contains a rule for a factor, and a file restores the catalogue's rule for that factor. A replay with this
// file has the same results as a replay of a log without the rule.
func TestReplayRulesWin(t *testing.T) {
	b := analysistest.NewKafka(t)
	list := analysistest.Shifts(600, 1, time.Minute)
	magnesium, _ := catalogue.FactorByID("high-mag")
	said := &acuity.Observation{
		Hospital: "h000", ReceivedAt: list[300].ReceivedAt, Channel: acuity.ChannelRules, Source: "k-1",
		Rules: []catalogue.Rule{{Factor: magnesium, Lines: []catalogue.RuleLine{{Name: "floor", Text: "2"}, {Name: "class", Text: "4"}}}},
		Act:   &acuity.Act{},
	}
	b.Put(list[:300])
	b.Put([]*acuity.Observation{said})
	b.Put(list[300:])
	levels := func(rules replay.Override) string {
		r := rerun(b, "h000")
		r.Rules = rules
		var out strings.Builder
		if err := r.Run(t.Context(), func(_ int32, c *acuity.Change) error {
			for _, e := range c.Effects {
				out.WriteString(e.Color.String() + e.Level.String() + " ")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	asCatalogue, err := replay.ReadRules(strings.NewReader(`{"ok":true,"data":{"rules":[{"factorId":"high-mag","delete":true}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	plain := analysistest.NewKafka(t)
	plain.Put(list)
	was, catalogue := levels(nil), levels(asCatalogue)
	b = plain
	if never := levels(nil); catalogue != never || was == never {
		t.Error("taking the rule back is not as if it had never been said, or the rule had no effect")
	}
}

func TestReadRules(t *testing.T) {
	for name, row := range map[string]struct{ text, want string }{
		"one":             {`{"factorId":"high-mag","values":{"floor":"1"}}`, ""},
		"a list":          {`[{"factorId":"high-mag","values":{"floor":null,"class":"3"}},{"factorId":"labor-standard","values":{"class":"2"}}]`, ""},
		"csv":             {"factorId,line,text,comment\nhigh-mag,floor,1,x\nhigh-mag,class,3,\n", ""},
		"unknown factor":  {`{"factorId":"nonsense","values":{"floor":"1"}}`, `factor "nonsense" is not in the catalogue`},
		"unknown line":    {"factorId,line,text\nhigh-mag,colour,red\n", "enum:"},
		"bad value":       {`{"factorId":"high-mag","values":{"floor":"many"}}`, "catalogue (Use a format such as 1 until 60m"},
		"twice":           {`[{"factorId":"high-mag","values":{"floor":"1"}},{"factorId":"high-mag","values":{"floor":"1"}}]`, "appears more than once"},
		"nothing":         {`[]`, "no rule"},
		"another object":  {`{"rulesVersion":"1"}`, "neither a rule"},
		"another table":   {"system,code\nlocal,X\n", "must name the columns"},
		"half an object":  {`{"factorId":`, "read rules"},
		"nothing at all":  {``, "no rule"},
		"too large":       {"factorId,line,text\n" + strings.Repeat("high-mag,floor,1\n", 300_000), "larger than 4 MiB"},
		"all that is off": {`[{"factorId":"a"},{"factorId":"b"}]`, `"b"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := replay.ReadRules(strings.NewReader(row.text))
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("error %v, want %q", err, row.want)
			}
		})
	}
}
