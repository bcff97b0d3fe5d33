package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"
)

// statusWithin bounds one question to a server.
const statusWithin = 10 * time.Second

// runStatus is svc status: GET /api/ingest/status, for people. It ends with exit
// code 1 unless the status is ok.
func runStatus(ctx context.Context, args []string, w world) error {
	o, err := parseCall("status", args, w)
	if err != nil {
		return err
	}
	data, err := o.call(ctx, http.MethodGet, "/api/ingest/status")
	if err != nil {
		return err
	}
	var s statusData
	if err = json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("the answer is not one of svc: %w", err)
	}
	if o.json {
		var out bytes.Buffer
		if err = json.Indent(&out, data, "", "  "); err != nil {
			return err
		}
		fmt.Fprintln(w.stdout, out.String())
	} else if err = s.print(w.stdout); err != nil {
		return err
	}
	if s.Status != "ok" {
		return fmt.Errorf("%s: %s", s.Status, strings.Join(s.Reasons, ", "))
	}
	return nil
}

// statusData is what svc status shows of the answer.
type statusData struct {
	Status  string
	Reasons []string
	Feeds   []struct {
		Channel, Source      string
		LastReceivedAt       string
		ExpectedEverySeconds *int64
		Stale                bool
		Windows              map[string]struct{ Received, Applied, Duplicates, Ignored, Rejected, Warnings int64 }
	}
	Pipeline struct {
		Topics []struct {
			Name                          string
			Lag, OldestUnprocessedSeconds int64
		}
		ProcessorHeartbeatAt *string
		DeadLetters          int
	}
	UnitState struct {
		Recorded                                                    *bool
		Level, AsOf                                                 *string
		RoomsKnown, RoomsOccupied, UnplacedPatients, CancelsWaiting *int
	}
	Terminology struct{ UnmappedCodes, UnmappedHits24h, UnknownLocations *int64 }
}

func (s *statusData) print(out io.Writer) error {
	fmt.Fprintf(out, "%s\n\n", strings.TrimSpace(s.Status+" "+strings.Join(s.Reasons, ", ")))
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "FEED\tSOURCE\tLAST\tUSUALLY EVERY\tSTALE\tLAST 24 H: RECEIVED\tAPPLIED\tDUPLICATES\tIGNORED\tREJECTED\tWARNINGS")
	for _, f := range s.Feeds {
		every := "?"
		if f.ExpectedEverySeconds != nil {
			every = (time.Duration(*f.ExpectedEverySeconds) * time.Second).String()
		}
		day := f.Windows["24h"]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%t\t%d\t%d\t%d\t%d\t%d\t%d\n", f.Channel, f.Source, f.LastReceivedAt, every, f.Stale,
			day.Received, day.Applied, day.Duplicates, day.Ignored, day.Rejected, day.Warnings)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, t := range s.Pipeline.Topics {
		fmt.Fprintf(out, "%s: %d not applied, the oldest for %d s\n", t.Name, t.Lag, t.OldestUnprocessedSeconds)
	}
	fmt.Fprintf(out, "processor last seen %s, %d dead letters\n", shownOr(s.Pipeline.ProcessorHeartbeatAt), s.Pipeline.DeadLetters)
	u := &s.UnitState
	fmt.Fprintf(out, "unit %s as of %s; rooms %s, occupied %s; unplaced patients %s, cancels waiting %s\n",
		shownOr(u.Level), shownOr(u.AsOf), shownOr(u.RoomsKnown), shownOr(u.RoomsOccupied), shownOr(u.UnplacedPatients), shownOr(u.CancelsWaiting))
	t := &s.Terminology
	_, err := fmt.Fprintf(out, "codes not understood %s, %s times in 24 h; locations not confirmed %s\n",
		shownOr(t.UnmappedCodes), shownOr(t.UnmappedHits24h), shownOr(t.UnknownLocations))
	return err
}

func shownOr[T any](v *T) string {
	if v == nil {
		return "?"
	}
	return fmt.Sprint(*v)
}

// callOptions are what a command that asks a server over HTTP is told.
type callOptions struct {
	to, key, data string
	json          bool
}

// parseCall reads the flags of such a command; what is not given is that of the
// running svc dev.
func parseCall(name string, args []string, w world) (*callOptions, error) {
	o := &callOptions{}
	flags := flag.NewFlagSet("svc "+name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.to, "to", "", "`address` of the server: https://HOST (default: the running svc dev)")
	flags.StringVar(&o.key, "key", "", "API `key` (default: that of the running svc dev)")
	flags.StringVar(&o.data, "data", defaultData, "data `folder` of the running svc dev, if no address is given")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(w.stdout, "usage: svc %s [flags]\n\n", name)
		flags.SetOutput(w.stdout)
		flags.PrintDefaults()
		return nil, err
	} else if err != nil {
		return nil, usageError{err}
	}
	faults := fromEnvironment(flags, w.env)
	if flags.NArg() > 0 {
		faults = append(faults, fmt.Errorf("unexpected argument %q", flags.Arg(0)))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, usageError{err}
	}
	if o.to == "" {
		running, err := readDevFile(o.data)
		if err != nil {
			return nil, usageError{fmt.Errorf("name a server by -to, or start svc dev (%w)", err)}
		}
		o.to = running.BaseURL
		if o.key == "" {
			o.key = running.APIKey
		}
	}
	return o, nil
}

// call returns the data of an answer.
func (o *callOptions) call(ctx context.Context, method, path string) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(o.to, "/")+path, nil) //nolint:gosec // the user names the server
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+o.key)
	response, err := http.DefaultClient.Do(request) //nolint:gosec // as above
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(io.LimitReader(response.Body, 8<<20))
	if err != nil {
		return nil, err
	}
	var answer struct {
		OK    bool
		Data  json.RawMessage
		Error struct {
			Message string
			Details []struct{ Path, Rule string }
		}
	}
	if json.Unmarshal(body, &answer) != nil {
		return nil, fmt.Errorf("%d: not an answer of svc", response.StatusCode)
	}
	if !answer.OK {
		said := []string{answer.Error.Message}
		for _, d := range answer.Error.Details {
			said = append(said, strings.TrimSpace(d.Path+" "+d.Rule))
		}
		return nil, errors.New(strings.Join(said, " "))
	}
	return answer.Data, nil
}
