package main

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"svc/ingest/engines"
	"svc/internal/config"
	"svc/internal/httpapi"
	"svc/internal/lifecycle"
)

// TestAddressInUse: if an address is in use, the error names the option that sets the address.
func TestAddressInUse(t *testing.T) {
	busy, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	address := busy.Addr().String()
	shell := &httpapi.Shell{Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	h := &service{config: &config.Config{Listen: address}, shell: shell, now: time.Now, Process: &lifecycle.Process{Health: lifecycle.NewHealth(nil, nil)}}
	h.createRouter()
	fronts, err := engines.New(&engines.Config{MLLP: config.MLLP{Senders: []config.MLLPSender{{Address: address}}}})
	if err != nil {
		t.Fatal(err)
	}
	for option, run := range map[string]func(context.Context) error{
		"--listen":         h.public().Run,
		"--private-listen": h.Private(address, h.router).Run,
		"--mllp":           fronts[0].Run,
	} {
		if err := run(t.Context()); err == nil || !strings.Contains(err.Error(), "("+option+")") {
			t.Errorf("%s: %v", option, err)
		}
	}
}
