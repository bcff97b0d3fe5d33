package view

import (
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestNodesThatLeft: nodes that have left a cluster are forgotten once another node joins. Otherwise, a process would
// keep every node of a cluster whose nodes get a new address with each restart.
func TestNodesThatLeft(t *testing.T) {
	c := &connection{now: time.Now, log: slog.New(slog.DiscardHandler)}
	join := func() *redis.Client { return c.addNode(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1}) }
	stays, leaves := join(), join()
	if err := leaves.Close(); err != nil {
		t.Fatal(err)
	}
	joins := join()
	for client, want := range map[*redis.Client]bool{stays: true, leaves: false, joins: true} {
		if _, known := c.nodes.Load(client); known != want {
			t.Errorf("known: %v, want %v", known, want)
		}
	}
	if stays.Close() != nil || joins.Close() != nil {
		t.Error("not closed")
	}
}
