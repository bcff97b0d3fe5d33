package view_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"svc/internal/view"
)

// TestWholeProjectionDuringACheck puts a whole projection while the check of the headers invalidates a view that Redis
// lost. The check must not drop this projection, because no other one follows.
func TestWholeProjectionDuringACheck(t *testing.T) {
	embedded, err := view.Embed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(embedded.Close)
	b, err := view.Open(config(embedded.URL()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	projector := b.Projector("g", func(int32) {})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error)
	go func() { done <- projector.Run(ctx) }()
	defer func() {
		cancel()
		<-done
	}()
	projector.Put(view.Projection{Whole: true, Position: 3, Units: []view.Unit{{Hospital: "north", Version: 3}}})
	if err = b.Watermark().Wait(ctx, 0, 3); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	embedded.Hook(func(command string) string {
		if command == "HSET" { // the check marks the partition as not whole; scripts write before the hook is set
			once.Do(func() {
				projector.Put(view.Projection{Whole: true, Position: 4, Units: []view.Unit{{Hospital: "north", Version: 4}}})
			})
		}
		return ""
	})
	defer embedded.Hook(nil)
	options, err := redis.ParseURL(embedded.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	if err = client.Eval(ctx, `return redis.call('HMSET', KEYS[1], 'p', '1')`, []string{"svc:{0}whole"}).Err(); err != nil {
		t.Fatal(err)
	}
	if err = b.Watermark().Wait(ctx, 0, 4); err != nil {
		t.Fatal(err)
	}
}
