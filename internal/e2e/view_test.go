package e2e

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"svc/internal/httpapi/limit"
	"svc/internal/httpapi/limit/limittest"
	"svc/internal/view/viewtest"
)

// TestLimitsOnRedis runs the conformance suite of the shared buckets on a real Redis.
func TestLimitsOnRedis(t *testing.T) {
	t.Parallel()
	_, server := needServers(t)
	limittest.Run(t, limittest.Server{Open: func(t *testing.T) limit.Source { return viewtest.Open(t, "redis://"+server.address) }})
}

// TestViewOnRedis runs the conformance suite of the view on a real Redis. Without SVC_E2E, `go test` runs the suite on
// an embedded Redis.
func TestViewOnRedis(t *testing.T) {
	_, server := ownRedis(t)
	client := redis.NewClient(&redis.Options{Addr: server.address})
	t.Cleanup(func() { client.Close() })
	viewtest.Run(t, viewtest.Server{URL: "redis://" + server.address, Wipe: func(t *testing.T) {
		t.Helper()
		if err := client.FlushAll(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
	}})
}
