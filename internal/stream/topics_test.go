package stream

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

func TestEnsureSaysAllThatDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		size := "1000"
		if _, err := r.cluster.admin.CreateTopic(t.Context(), 2, 1, map[string]*string{"cleanup.policy": new("compact")}, "observations"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.cluster.admin.CreateTopic(t.Context(), 3, 1, map[string]*string{"cleanup.policy": new("delete"), "retention.ms": new("1000"), "max.message.bytes": &size}, "verdicts"); err != nil {
			t.Fatal(err)
		}
		small := map[string]*string{"cleanup.policy": new("compact"), "max.message.bytes": new("100000")}
		if _, err := r.cluster.admin.CreateTopic(t.Context(), 1, 1, small, "settings"); err != nil {
			t.Fatal(err)
		}
		err := r.cluster.Ensure(t.Context(),
			Topic{Name: "observations", Partitions: 3},
			Topic{Name: "settings", Partitions: 1, Compact: true},
			Topic{Name: "verdicts", Partitions: 3, Compact: true, MaxMessageBytes: 8 << 20},
			Topic{Name: "audit", Partitions: 1, Retention: 400 * 24 * time.Hour},
		)
		for _, want := range []string{
			"observations: has 2 partitions, must have 3", "observations: cleanup.policy is compact, must be delete",
			"verdicts: cleanup.policy is delete, must be compact", "verdicts: max.message.bytes is 1000, must be at least 8388608",
			"settings: max.message.bytes is 100000, must be at least 1000000",
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q is missing in %v", want, err)
			}
		}
		if err = r.cluster.Ensure(t.Context(), Topic{Name: "audit", Partitions: 1, Retention: 400 * 24 * time.Hour}); err != nil {
			t.Errorf("what was created does not fit: %v", err)
		}
		if err = r.cluster.Ensure(t.Context(), Topic{Name: "audit", Partitions: 1, Retention: 401 * 24 * time.Hour}); err == nil {
			t.Error("a short retention fits")
		}
		before, err := r.cluster.Generation(t.Context(), "audit")
		if err != nil || len(before) != 32 {
			t.Fatalf("%q, %v", before, err)
		}
		if err = r.broker.DeleteTopic("audit"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err = r.cluster.Ensure(t.Context(), Topic{Name: "audit", Partitions: 1}); err != nil {
			t.Fatal(err)
		}
		if after, err := r.cluster.Generation(t.Context(), "audit"); err != nil || after == before {
			t.Errorf("generation %q after %q: %v", after, before, err)
		}
	})
}

func TestOptionsFaultsAreToldAtOnce(t *testing.T) {
	err := (&Options{Mechanism: "GSSAPI", CAFile: "/nowhere", Log: slog.New(slog.DiscardHandler)}).Check()
	for _, want := range []string{"no broker", "GSSAPI", "/nowhere"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}

func TestSASL(t *testing.T) {
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		t.Run(mechanism, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := &kfake.VirtualNetwork{}
				broker, err := kfake.NewCluster(kfake.Ports(9092), kfake.ListenFn(net.Listen), kfake.EnableSASL(), kfake.Superuser(mechanism, "ann", "secret"))
				if err != nil {
					t.Fatal(err)
				}
				defer broker.Close()
				o := Options{
					Brokers: []string{"localhost:9092"}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Dial: net.DialContext,
					Mechanism: mechanism, User: "ann", Password: "secret",
				}
				c, err := Dial(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				c.Close()
				o.Password = "wrong"
				// This broker closes the connection on a wrong password, as a starting broker does.
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				if _, err := Dial(ctx, o); !errors.Is(err, ErrAway) {
					t.Errorf("a wrong password gives %v", err)
				}
			})
		})
	}
}
