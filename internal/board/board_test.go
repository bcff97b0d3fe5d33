package board_test

import (
	"context"
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
