package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/internal/cli"
)

// readyWithin is the time limit for svc ready. It exceeds the time limit for the checks in the process.
const readyWithin = 4 * time.Second

// readyCommand returns the command svc ready: the health check of a container, whose image has no other HTTP client. If
// the process is not ready, the command fails with the lines of /readyz.
func readyCommand(w env) *cobra.Command {
	return &cobra.Command{
		Use: "ready [ADDRESS]", Hidden: true,
		Short: "check whether the process at a private address is ready, for the health check of a container",
		RunE: func(cmd *cobra.Command, args []string) error {
			address, set := w.LookupEnv(cli.Variable("private-listen"))
			if len(args) > 0 {
				address, set = args[0], true
			}
			if !set || address == "" {
				address = "127.0.0.1:9090"
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), readyWithin)
			defer cancel()
			return askReady(ctx, address)
		},
	}
}

// askReady requests /readyz at the private address of a process on this machine.
func askReady(ctx context.Context, listen string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("%q is not HOST:PORT", listen)
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", http.NoBody)
	if err != nil {
		return fmt.Errorf("%q is not HOST:PORT", listen)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // the body was only read
	lines, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	if err != nil || answer.StatusCode == http.StatusOK {
		return err
	}
	return errors.New("not ready: " + strings.ReplaceAll(strings.TrimSpace(string(lines)), "\n", "; "))
}
