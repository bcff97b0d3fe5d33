package stream

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// freshRig returns a cluster of brokers without topics.
func freshRig(t *testing.T, options func(*Options), ports ...int) (*Cluster, *kfake.Cluster, *lines) {
	t.Helper()
	net, said := &kfake.VirtualNetwork{}, &lines{}
	broker, err := kfake.NewCluster(kfake.Ports(ports...), kfake.ListenFn(net.Listen))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Brokers: []string{"localhost:9092"}, Log: slog.New(slog.NewTextHandler(said, nil)), Dial: net.DialContext}
	if options != nil {
		options(&o)
	}
	c, err := Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c, broker, said
}

// unknown returns the response of a broker that does not know the requested topics yet.
func unknown(req *kmsg.MetadataRequest, code int16) *kmsg.MetadataResponse {
	resp := req.ResponseKind().(*kmsg.MetadataResponse) //nolint:forcetypeassert,errcheck // a metadata request has this response type
	for _, asked := range req.Topics {
		t := kmsg.NewMetadataResponseTopic()
		t.Topic, t.TopicID, t.ErrorCode = asked.Topic, asked.TopicID, code
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// A topic that another process creates between the check and the creation is validated like one
// that existed before.
func TestEnsureChecksTopicsThatAppear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, broker, _ := freshRig(t, nil, 9092)
		defer broker.Close()
		defer c.Close()
		if _, err := c.admin.CreateTopic(t.Context(), 12, 1, nil, "observations"); err != nil {
			t.Fatal(err)
		}
		var denied atomic.Bool
		broker.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
			ask := req.(*kmsg.MetadataRequest) //nolint:forcetypeassert,errcheck // the hook is set for this key
			if len(ask.Topics) == 0 || !denied.CompareAndSwap(false, true) {
				broker.KeepControl()
				return nil, nil, false
			}
			return unknown(ask, kerr.UnknownTopicOrPartition.Code), nil, true
		})
		err := c.Ensure(t.Context(), Topic{Name: "observations", Partitions: 6})
		if !denied.Load() || err == nil || !strings.Contains(err.Error(), "observations: has 12 partitions, must have 6") {
			t.Errorf("denied %v, then %v", denied.Load(), err)
		}
	})
}

// A new topic is ready once every broker knows it. A broker that does not know the topic yet returns an error that
// would make a role exit.
func TestEnsureWaitsForEveryBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, broker, _ := freshRig(t, nil, 9092, 9093, 9094)
		defer broker.Close()
		defer c.Close()
		const late = 2 // node id
		hears := time.Now().Add(7 * time.Second)
		broker.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
			broker.KeepControl()
			ask := req.(*kmsg.MetadataRequest) //nolint:forcetypeassert,errcheck // the hook is set for this key
			if len(ask.Topics) == 0 || broker.CurrentNode() != late || time.Now().After(hears) {
				return nil, nil, false
			}
			return unknown(ask, kerr.UnknownTopicOrPartition.Code), nil, true
		})
		if err := c.Ensure(t.Context(), Topic{Name: "observations", Partitions: 6}, Topic{Name: "audit", Partitions: 1}); err != nil {
			t.Fatal(err)
		}
		if time.Now().Before(hears) {
			t.Error("a broker did not know the topics yet")
		}
	})
}

// Ensure skips a broker that does not respond, because such a broker catches up with the others before it responds
// again.
func TestEnsureWithoutOneBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, broker, _ := freshRig(t, nil, 9092, 9093, 9094)
		defer broker.Close()
		defer c.Close()
		if err := c.Ensure(t.Context(), Topic{Name: "audit", Partitions: 1}); err != nil {
			t.Fatal(err)
		}
		broker.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
			broker.KeepControl()
			return nil, nil, broker.CurrentNode() == 2 // the request gets no response
		})
		began := time.Now()
		if err := c.Ensure(t.Context(), Topic{Name: "audit", Partitions: 1}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("after %v", took)
		}
	})
}

// If brokers start together, at first only one responds. A topic is not created until there are as many brokers as
// the topic has replicas, or as many as the options list.
func TestEnsureWaitsForBrokersOfReplicas(t *testing.T) {
	for name, options := range map[string]func(*Options){
		"asked for":     func(o *Options) { o.Replicas = 3 },
		"brokers named": func(o *Options) { o.Brokers = []string{"localhost:9092", "localhost:9093", "localhost:9094"} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, broker, said := freshRig(t, options, 9092)
				defer broker.Close()
				defer c.Close()
				done := make(chan error, 1)
				go func() { done <- c.Ensure(t.Context(), Topic{Name: "audit", Partitions: 1}) }()
				time.Sleep(10 * time.Second)
				if broker.TopicInfo("audit") != nil {
					t.Fatal("created with one broker")
				}
				if !strings.Contains(said.String(), "1 brokers are known, but topics are created with 3 replicas") {
					t.Errorf("the log does not say why it waits: %s", said)
				}
				for port := 9093; port < 9095; port++ {
					if _, _, err := broker.AddNode(-1, port); err != nil {
						t.Fatal(err)
					}
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				have, err := c.admin.ListTopics(t.Context(), "audit")
				if err != nil || have["audit"].Partitions.NumReplicas() != 3 {
					t.Errorf("%d replicas: %v", have["audit"].Partitions.NumReplicas(), err)
				}
			})
		})
	}
}

// TestAddressWithoutBroker: an address without a broker does not raise the number of replicas, neither of an existing
// topic nor, after ten minutes, of a new one.
func TestAddressWithoutBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, broker, said := freshRig(t, func(o *Options) { o.Brokers = []string{"localhost:9092", "localhost:9093"} }, 9092)
		defer broker.Close()
		defer c.Close()
		topic := Topic{Name: "audit", Partitions: 1}
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
			err := c.Ensure(ctx, topic)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
		}
		have, err := c.admin.ListTopics(t.Context(), "audit")
		if err != nil || have["audit"].Partitions.NumReplicas() != 1 {
			t.Errorf("%d replicas: %v", have["audit"].Partitions.NumReplicas(), err)
		}
		if !strings.Contains(said.String(), "fewer replicas than brokers are configured") {
			t.Errorf("the log does not say it: %s", said)
		}
		found, err := Inspect(t.Context(), c, nil, topic)
		if err != nil || len(found.Misfits) > 0 {
			t.Errorf("%v, %v", found.Misfits, err)
		}
	})
}

// An error that a starting broker returns is retried, and a missing permission for 10 s. An error that a retry cannot
// fix is returned at once.
func TestEnsurePersists(t *testing.T) {
	for name, tt := range map[string]struct {
		answer *kerr.Error
		lasts  time.Duration
		passes bool
	}{
		"not the controller": {kerr.NotController, 5 * time.Second, true},
		"too few brokers":    {kerr.InvalidReplicationFactor, 5 * time.Second, true},
		"not allowed yet":    {kerr.TopicAuthorizationFailed, 5 * time.Second, true},
		"not allowed":        {kerr.TopicAuthorizationFailed, 11 * time.Second, false},
		"against a policy":   {kerr.PolicyViolation, 5 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, broker, _ := freshRig(t, nil, 9092)
				defer broker.Close()
				defer c.Close()
				until := time.Now().Add(tt.lasts)
				broker.ControlKey(int16(kmsg.CreateTopics), func(req kmsg.Request) (kmsg.Response, error, bool) {
					broker.KeepControl()
					if time.Now().After(until) {
						return nil, nil, false
					}
					resp := req.ResponseKind().(*kmsg.CreateTopicsResponse) //nolint:forcetypeassert,errcheck // a CreateTopics request has this response type
					topic := kmsg.NewCreateTopicsResponseTopic()
					topic.Topic, topic.ErrorCode = "audit", tt.answer.Code
					resp.Topics = append(resp.Topics, topic)
					return resp, nil, true
				})
				err := c.Ensure(t.Context(), Topic{Name: "audit", Partitions: 1})
				if (err == nil) != tt.passes || tt.passes == time.Now().Before(until) {
					t.Errorf("%v after %v", err, time.Since(until.Add(-tt.lasts)))
				}
			})
		})
	}
}
