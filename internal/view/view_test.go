package view_test

import (
	"context"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"svc/internal/httpapi/limit"
	"svc/internal/httpapi/limit/limittest"
	"svc/internal/view"
	"svc/internal/view/viewtest"
)

func TestEmbedded(t *testing.T) {
	embedded, err := view.Embed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(embedded.Close)
	s := server(t, embedded.URL())
	s.Refuse = map[string]func(*testing.T) func(){"as a replica does": func(*testing.T) func() {
		writes := []string{"HSET", "HDEL", "DEL", "SADD", "SREM", "ZADD", "ZREM", "EVALSHA"}
		embedded.Hook(func(command string) string {
			if slices.Contains(writes, command) {
				return "READONLY You can't write against a read only replica."
			}
			return ""
		})
		return func() { embedded.Hook(nil) }
	}}
	viewtest.Run(t, s)
	limittest.Run(t, limittest.Server{Open: func(t *testing.T) limit.Source { return viewtest.Open(t, embedded.URL()) }})
}

func server(t *testing.T, url string) viewtest.Server {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return viewtest.Server{URL: url, Wipe: func(t *testing.T) {
		t.Helper()
		if err := client.FlushAll(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
	}}
}
