package engines

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc/acuity"
	"svc/ingest"
	"svc/ingest/mllp"
	"svc/internal/admin/audit"
	"svc/internal/admin/keys"
	"svc/internal/config"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/limit"
)

// sources is an observation log that stores only the source of each observation.
type sources []string

func (s *sources) Append(_ context.Context, o *acuity.Observation) (ingest.Position, error) {
	*s = append(*s, o.Source)
	return ingest.Position{Offset: int64(len(*s))}, nil
}

// TestMLLPFollowsRotation rotates the key of a listener. From the next message on, the successor is used: its scopes
// and limits apply, and its last use is recorded.
func TestMLLPFollowsRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		limits := limit.New(limit.NewMemory(time.Now), time.Now)
		register := access.NewRegister(time.Now)
		register.SetHospital(access.Hospital{ID: "north", Zone: "UTC"})
		ring := keys.Ring{
			Register: register, Now: time.Now,
			Seen: func() int64 { return 0 },
			Put: func(_ context.Context, _ int64, keys ...*access.Key) error {
				for _, key := range keys {
					register.SetKey(*key)
				}
				return nil
			},
			Audit: func(context.Context, audit.Act) error { return nil },
		}
		var used, told []string
		shell := &httpapi.Shell{Now: time.Now, Log: slog.New(slog.DiscardHandler), Limits: limits, Used: func(id string) { used = append(used, id) }}
		c := &Config{Register: register, Shell: shell, Messages: ingest.NewMessages(ingest.Config{
			Shell: shell, Log: (*sources)(&told), Zone: register.Zone, Pseudonyms: ingest.NewPseudonyms([]byte("0123456789abcdef0123456789abcdef")),
		})}
		first, _, err := ring.Mint(ctx, "test", access.Key{Hospital: "north", Scopes: []access.Scope{access.IngestHL7}, Rate: 0.01, Burst: 4})
		if err != nil {
			t.Fatal(err)
		}
		sender, err := c.admit([]config.MLLPSender{{Key: first.ID}}, mllp.Peer{})
		if err != nil || sender.Key != first.ID {
			t.Fatalf("%+v %v", sender, err)
		}
		send := func() (ack string, took time.Duration, err error) {
			began := time.Now()
			b, err := sender.Store(ctx, []byte("MSH|^~\\&|A|B|C|D|20260304080000||ADT^A01|1|P|2.5.1\rEVN||20260304080000\rPID|1||M1\rPV1|1|I|LDR^L1|||||||||||||||||V1\r"))
			synctest.Wait()
			return string(b), time.Since(began), err
		}
		free := 0
		for took := time.Duration(0); took == 0 && free < 100; free++ {
			var ack string
			if ack, took, err = send(); err != nil || !strings.Contains(ack, "MSA|AA|1") {
				t.Fatalf("%q %v", ack, err)
			}
			if took != 0 && took != patience {
				t.Errorf("a message waited %v for a rate that is slower than %v", took, patience)
			}
		}
		if free < 4 || free > 10 {
			t.Errorf("slowed after %d messages of 4", free)
		}
		second, _, err := ring.Rotate(ctx, "test", 0, first, 0)
		if err != nil {
			t.Fatal(err)
		}
		if ack, took, refused := send(); refused != nil || took != 0 || !strings.Contains(ack, "MSA|AA|1") {
			t.Errorf("after the rotation: %q, %v, %v", ack, took, refused)
		}
		if used[0] != first.ID || used[len(used)-1] != second.ID || len(used) != free+1 {
			t.Errorf("used %v", used)
		}
		if again, refused := c.admit([]config.MLLPSender{{Key: first.ID}}, mllp.Peer{}); refused != nil || again.Key != second.ID {
			t.Errorf("a connection after the rotation: %+v %v", again, refused)
		}
		if told[0] != first.ID || told[len(told)-1] != first.ID {
			t.Errorf("sources %v", told)
		}
		if _, err = ring.Revoke(ctx, "test", 0, second); err != nil {
			t.Fatal(err)
		}
		if _, _, err := send(); !errors.Is(err, mllp.ErrRefused) {
			t.Errorf("after the revocation: %v", err)
		}
	})
}
