package stream

import (
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestLate: who takes what others leave of the processor waits for the brokers for longer.
func TestLate(t *testing.T) {
	for late, want := range map[bool]time.Duration{false: 2 * time.Second, true: 30 * time.Second} {
		opts, err := (&Options{Brokers: []string{"127.0.0.1:1"}, Log: slog.New(slog.DiscardHandler), Late: late}).client()
		if err != nil {
			t.Fatal(err)
		}
		client, err := kgo.NewClient(opts...)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		dial, request := client.OptValue(kgo.DialTimeout), client.OptValue(kgo.RequestTimeoutOverhead)
		if dial != want || request != want {
			t.Errorf("late %v: %v to connect, %v beyond a request's own time; want %v", late, dial, request, want)
		}
	}
}
