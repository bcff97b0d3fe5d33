package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"
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

// runListen prints incoming webhooks and verifies them: what a partner has before
// there is a receiver.
func runListen(ctx context.Context, args []string, w world) error {
	o, err := parseListen(args, w)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.addr)
	if err != nil {
		return fmt.Errorf("%s is in use or not ours; choose another with --addr", o.addr)
	}
	defer listener.Close() //nolint:errcheck // the server closes it too
	known := make([]hookSecret, len(o.secrets))
	for i, value := range o.secrets {
		known[i].value = value
	}
	var mu sync.Mutex // one delivery at a time
	receiver := &hook{
		now: w.Now, answer: o.answer, secrets: func(string) []hookSecret { return known },
		took: func(d *hookDelivery) {
			mu.Lock()
			defer mu.Unlock()
			o.print(w.Stdout, d)
		},
	}
	routes := http.NewServeMux()
	routes.Handle("POST /", receiver)
	verifying := "verifying signatures"
	if len(known) == 0 {
		verifying = "not verifying signatures: no --secret was given"
	}
	fmt.Fprintf(w.Stderr, "listening on http://%s/, %s; Ctrl-C stops it\n", listener.Addr(), verifying)
	s := &server{name: "webhooks", handler: routes, listener: listener, within: time.Second}
	return s.run(ctx)
}

func parseListen(args []string, w world) (*listenOptions, error) {
	o := &listenOptions{}
	flags := flag.NewFlagSet("svc listen", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.addr, "addr", "127.0.0.1:4000", "`address` to listen on, host:port; port 0 takes a free one")
	flags.Func("secret", "signing `secret` of the endpoint; given twice, either may have signed, as while it is rotated", func(value string) error {
		if value == "" {
			return errors.New("is empty")
		}
		o.secrets = append(o.secrets, value)
		return nil
	})
	flags.StringVar(&o.secretFile, "secret-file", "", "`file` that holds signing secrets, one a line")
	flags.IntVar(&o.answer, "answer", http.StatusNoContent, "`status` to answer what is accepted, to see what the service does then")
	flags.BoolVar(&o.body, "body", false, "print the whole payload")
	flags.BoolVar(&o.json, "json", false, "print each delivery as a line of JSON")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(w.Stdout, "usage: svc listen [flags]\n\nPrints webhooks as they come, and whether their signature holds. What does not verify is answered 401.\n\n")
		flags.SetOutput(w.Stdout)
		flags.PrintDefaults()
		return nil, err
	} else if err != nil {
		return nil, usageError(err)
	}
	faults := fromEnvironment(flags, w.Env)
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
	if flags.NArg() > 0 {
		faults = append(faults, fmt.Errorf("unexpected argument %q", flags.Arg(0)))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, usageError(err)
	}
	return o, nil
}

// readSecrets reads a file of secrets, one a line. One without any is a fault:
// whoever names a file expects that it is verified.
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
		return nil, errors.New("holds no secret")
	}
	return secrets, nil
}

// print shows one delivery. Whatever a stranger sends, a terminal gets no
// control characters of it.
func (o *listenOptions) print(out io.Writer, d *hookDelivery) {
	if o.json {
		if err := json.NewEncoder(out).Encode(d); err != nil {
			fmt.Fprintln(out, err)
		}
		return
	}
	line := []string{d.Clock(), d.verdict(), plain(d.Event), plain(d.ID)}
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

// verdict is what is said of the signature of a delivery.
func (d *hookDelivery) verdict() string {
	if d.Verdict == hookRefused {
		return fmt.Sprintf("REFUSED (X-Svc-Signature %s, webhook-signature %s)", d.Body, d.Standard)
	}
	return d.Verdict
}

func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
}
