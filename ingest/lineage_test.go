package ingest_test

import (
	"context"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/internal/admin/audit"
	"svc/internal/admin/keys"
	"svc/internal/httpapi/access"
)

// TestRotationEndsNoResource sends the start of an infusion with one key and its end with successors of that key. A
// FHIR resource is identified by its id and its sender, and all keys of a lineage are the same sender. The same id
// sent with a key outside the lineage identifies a different resource.
func TestRotationEndsNoResource(t *testing.T) {
	for name, tt := range map[string]struct {
		rotations int
		stranger  bool
	}{
		"not rotated":   {rotations: 0},
		"rotated":       {rotations: 1},
		"rotated twice": {rotations: 2},
		"another key":   {stranger: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			clock := func() time.Time { return now }
			register := access.NewRegister(clock)
			ring := keys.Ring{
				Register: register, Now: clock,
				Seen: func() int64 { return 0 },
				Put: func(_ context.Context, _ int64, keys ...*access.Key) error {
					for _, key := range keys {
						register.SetKey(*key)
					}
					return nil
				},
				Audit: func(context.Context, audit.Act) error { return nil },
			}
			d.config.Shell.Lookup = register.Lookup
			d.Handler = mounted(d.config)
			u := hospital.New("stmary")
			d.change = func(o *acuity.Observation) acuity.Change { return u.Apply(o, int64(len(d.stored)-1)) }
			tell := func(by, body string) *answer {
				t.Helper()
				a := d.post(t, "fhir", body, "Content-Type", "application/fhir+json", "Authorization", "Bearer "+by)
				if a.status != 200 {
					t.Fatalf("%d %s", a.status, a.raw)
				}
				return a
			}
			key, secret, err := ring.Mint(t.Context(), "test", access.Key{Hospital: "stmary", Scopes: access.Scopes()})
			if err != nil {
				t.Fatal(err)
			}
			first := key.ID
			tell(secret, encounter("in-progress", "08:15", stays("L1", "08:10"), ""))
			if a := tell(secret, administered("m1", "in-progress", "15:00", "15:00", "")); len(a.Data.Activated) != 1 {
				t.Fatalf("the infusion activates nothing: %s", a.raw)
			}
			for range tt.rotations {
				if key, secret, err = ring.Rotate(t.Context(), "test", ring.Seen(), key, 0); err != nil {
					t.Fatal(err)
				}
			}
			if tt.stranger {
				if _, secret, err = ring.Mint(t.Context(), "test", access.Key{Hospital: "stmary", Scopes: access.Scopes()}); err != nil {
					t.Fatal(err)
				}
			}
			a := tell(secret, administered("m1", "stopped", "15:20", "15:00", "15:20"))
			if ended := len(a.Data.Expired) == 1; ended == tt.stranger {
				t.Errorf("ended: %v, %s", ended, a.raw)
			}
			if last := d.stored[len(d.stored)-1]; (last.Source == first) == tt.stranger {
				t.Errorf("source %q, first key %q", last.Source, first)
			}
		})
	}
}
