package board_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"svc/internal/board"
	"svc/internal/board/boardtest"
	"svc/internal/limit"
	"svc/internal/limit/limittest"
)

func TestEmbedded(t *testing.T) {
	embedded, err := board.Embed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(embedded.Close)
	boardtest.Run(t, server(t, embedded.URL()))
	limittest.Run(t, limittest.Server{Open: func(t *testing.T) limit.Source { return boardtest.Open(t, embedded.URL()) }})
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
