package view

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// Embedded is a Redis inside this process, on a port of the loopback address. It keeps nothing
// after Close.
type Embedded struct{ server *miniredis.Miniredis }

// Embed starts an embedded Redis.
func Embed() (*Embedded, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start embedded Redis: %w", err)
	}
	return &Embedded{server: server}, nil
}

// URL returns the address of the Redis.
func (e *Embedded) URL() string { return "redis://" + e.server.Addr() }

// Close stops the Redis.
func (e *Embedded) Close() { e.server.Close() }
