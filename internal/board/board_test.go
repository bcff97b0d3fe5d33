package board_test

import (
	"context"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"svc/internal/board"
	"svc/internal/board/boardtest"
)

func TestEmbedded(t *testing.T) {
	embedded, err := board.Embed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(embedded.Close)
	boardtest.Run(t, server(t, embedded.URL()))
}

// TestReal runs on the server at E2E_REDIS (a URL), which it wipes.
func TestReal(t *testing.T) {
	url := os.Getenv("E2E_REDIS")
	if url == "" {
		t.Skip("E2E_REDIS is not set: no real Redis to run on")
	}
	boardtest.Run(t, server(t, url))
}

func server(t *testing.T, url string) boardtest.Server {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return boardtest.Server{URL: url, Wipe: func(t *testing.T) {
		t.Helper()
		if err := client.FlushAll(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
	}}
}
