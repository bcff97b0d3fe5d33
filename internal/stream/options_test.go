package stream

import (
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestPatient: with the option Patient, which commands set, a request may take 30 s instead of 2 s.
func TestPatient(t *testing.T) {
	for patient, want := range map[bool]time.Duration{false: 2 * time.Second, true: 30 * time.Second} {
		opts, silent, err := (&Options{Brokers: []string{"127.0.0.1:1"}, Log: slog.New(slog.DiscardHandler), Patient: patient}).client()
		if err != nil {
			t.Fatal(err)
		}
		client, err := kgo.NewClient(opts...)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		request := client.OptValue(kgo.RequestTimeoutOverhead)
		if silent.within != want || request != want {
			t.Errorf("patient %v: %v to connect, %v beyond a request's own time; want %v", patient, silent.within, request, want)
		}
	}
}
