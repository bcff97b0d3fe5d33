package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// followTopics reads the committed records of topics, from the start of the topics until the test ends, and passes
// each batch to the function read. The client's timeouts are short, so that it soon switches from a paused or stopped
// broker to the broker that has taken over the partitions.
func followTopics(t *testing.T, brokers string, read func(kgo.Fetches), topics ...string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(brokers, ",")...), kgo.AlwaysRetryEOF(),
		kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequestTimeoutOverhead(time.Second), kgo.FetchMaxWait(500*time.Millisecond),
		kgo.MetadataMinAge(100*time.Millisecond), kgo.DialTimeout(time.Second), kgo.RetryBackoffFn(func(int) time.Duration { return 100 * time.Millisecond }))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { stop(); <-done; client.Close() })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			read(client.PollFetches(ctx))
		}
	}()
}
