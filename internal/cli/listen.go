package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"svc/internal/receiver"
)

// listenOptions are the flags of svc listen.
type listenOptions struct {
	addr       string
	secrets    []string
	secretFile string
	answer     int
	body       bool
	json       bool
}

// listenCommand returns the command svc listen, which prints incoming webhooks and verifies their signatures.
// Partners can use it before their own receivers exist.
func listenCommand(w Env) *cobra.Command {
	o := &listenOptions{}
	c := &cobra.Command{
		Use: "listen", Short: "print incoming webhooks and verify them",
		Long:    "Prints each webhook and whether its signature is valid. The response to a webhook with an\ninvalid signature is 401.",
		PreRunE: func(*cobra.Command, []string) error { return o.check() },
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c.Context(), w) },
	}
	f := c.Flags()
	f.StringVar(&o.addr, "addr", "127.0.0.1:4000", "`address` to listen on, host:port; port 0 selects a free port")
	f.StringArrayVar(&o.secrets, "secret", nil,
		"signing `secret` of the endpoint; given twice, either is valid, as during a rotation")
	f.StringVar(&o.secretFile, "secret-file", "", "`file` with signing secrets, one per line")
	f.IntVar(&o.answer, "answer", http.StatusNoContent, "`status` of the response to valid webhooks, to test the retries of svc")
	f.BoolVar(&o.body, "body", false, "print the complete payload")
	f.BoolVar(&o.json, "json", false, "print each delivery as a line of JSON")
	return c
}

func (o *listenOptions) run(ctx context.Context, w Env) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.addr)
	if err != nil {
		return fmt.Errorf("%s is in use, or is not an address of this machine; choose another with --addr", o.addr)
	}
	known := make([]receiver.Secret, len(o.secrets))
	for i, value := range o.secrets {
		known[i].Value = value
	}
	var mu sync.Mutex // serializes the output of deliveries
	r := &receiver.Receiver{
		Now: w.Now, Answer: o.answer, Secrets: func(string) []receiver.Secret { return known },
		OnDelivery: func(d *receiver.Delivery) {
			mu.Lock()
			defer mu.Unlock()
			o.print(w.Stdout, d)
		},
	}
	routes := http.NewServeMux()
	routes.Handle("POST /", r)
	verifying := "verifying signatures"
	if len(known) == 0 {
		verifying = "not verifying signatures: no --secret was given"
	}
	fmt.Fprintf(w.Stderr, "listening on http://%s/, %s; press Ctrl-C to stop\n", listener.Addr(), verifying)
	server := &http.Server{Handler: routes, ReadTimeout: 30 * time.Second}
	answered := make(chan error, 1)
	defer context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		answered <- server.Shutdown(grace)
	})()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve webhooks: %w", err)
	}
	if err := <-answered; !errors.Is(err, context.DeadlineExceeded) { // slow connections end with the process
		return err
	}
	return nil
}

// check reads the file with the secrets, and returns the errors in the flags.
func (o *listenOptions) check() error {
	var faults []error
	if slices.Contains(o.secrets, "") {
		faults = append(faults, errors.New("--secret: is empty"))
	}
	if o.secretFile != "" {
		secrets, err := readSecrets(o.secretFile)
		if err != nil {
			faults = append(faults, fmt.Errorf("--secret-file: %w", err))
		}
		o.secrets = append(o.secrets, secrets...)
	}
	if _, _, err := net.SplitHostPort(o.addr); err != nil {
		faults = append(faults, errors.New("--addr: must be host:port"))
	}
	if o.answer < 200 || o.answer > 599 {
		faults = append(faults, errors.New("--answer: must be a status from 200 to 599"))
	}
	return errors.Join(faults...)
}

// readSecrets reads a file with one secret per line. A file without a secret is an error, because svc listen would
// then verify no signatures, although the user has named a file with secrets.
func readSecrets(path string) (secrets []string, err error) {
	content, err := readSecret(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(content) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			secrets = append(secrets, line)
		}
	}
	if len(secrets) == 0 {
		return nil, errors.New("contains no secret")
	}
	return secrets, nil
}

// print prints one delivery. It removes control characters from the sender's text, because a terminal would execute
// them.
func (o *listenOptions) print(out io.Writer, d *receiver.Delivery) {
	if o.json {
		if err := json.NewEncoder(out).Encode(d); err != nil {
			fmt.Fprintln(out, err)
		}
		return
	}
	line := []string{d.Clock(), verdictOf(d), plain(d.Event), plain(d.ID)}
	if d.Payload == nil {
		line[2], line[3] = "no JSON", ""
	}
	if d.Times > 1 {
		line = append(line, fmt.Sprintf("DUPLICATE, %d times", d.Times))
	}
	fmt.Fprintln(out, strings.TrimSpace(strings.Join(append(line, plain(d.Summary)), "  ")))
	if o.body && d.Payload != nil {
		var text bytes.Buffer
		if err := json.Indent(&text, d.Payload, "  ", "  "); err == nil {
			for row := range strings.Lines(text.String()) {
				fmt.Fprintln(out, plain(strings.TrimRight(row, "\n")))
			}
		}
	}
}

// verdictOf describes the result of checking the signature of a delivery.
func verdictOf(d *receiver.Delivery) string {
	if d.Verdict == receiver.Refused {
		return fmt.Sprintf("REFUSED (X-Svc-Signature %s, webhook-signature %s)", d.Body, d.Standard)
	}
	return d.Verdict
}
