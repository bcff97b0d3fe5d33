package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// FeedCommands returns the commands for feeds and webhooks.
func FeedCommands(w Env) []*cobra.Command {
	return []*cobra.Command{sendCommand(w), simulateCommand(w), listenCommand(w), statusCommand(w)}
}

// statusCommand returns the command svc status, which prints the status of all feeds (GET /api/ingest/status) as a
// table. The exit code is 1 unless that status is ok. With a source as its argument, the command prints the status of
// that source.
func statusCommand(w Env) *cobra.Command {
	run := func(ctx context.Context, c *client) error {
		if c.flags.NArg() > 0 {
			return c.sourceStatus(ctx)
		}
		return c.status(ctx)
	}
	cmd := verb(w, "status [SOURCE]", "show the status of the feeds of a hospital, or the refused messages of one source", run,
		func(c *client, _ *cobra.Command) { c.reader = true })
	cmd.Long = `With SOURCE, the id or name of an API key, it lists refusals and warnings of that
source. Without SOURCE, it exits with code 1 unless the status is ok.`
	return cmd
}

func (c *client) status(ctx context.Context) error {
	data, err := c.ask(ctx, http.MethodGet, "/api/ingest/status", nil)
	if err != nil {
		return err
	}
	var s statusData
	if err = decode(data, &s); err != nil {
		return err
	}
	if c.json {
		err = PrintJSON(c.Stdout, data)
	} else {
		err = s.print(c.Stdout)
	}
	if err != nil {
		return err
	}
	if s.Status != "ok" {
		return fmt.Errorf("%s: %s", s.Status, strings.Join(s.Reasons, ", "))
	}
	return nil
}

// statusData is the part of the response that svc status prints.
type statusData struct {
	Status  string
	Reasons []string
	Feeds   []struct {
		Channel, Source      string
		SourceName           *string
		LastReceivedAt       string
		ExpectedEverySeconds *int64
		Stale                bool
		Windows              map[string]struct {
			Received, Applied, Duplicates, Ignored, Rejected, Warnings int64
			Changed, Unchanged, Unused, OutsideUnit                    int64
		}
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
	table := NewTable(out, "FEED", "SOURCE", "LAST", "USUALLY EVERY", "STALE",
		"LAST 24 H: RECEIVED", "APPLIED", "DUPLICATES", "IGNORED", "REJECTED", "CHANGED", "UNCHANGED", "NOT USED", "OUTSIDE UNIT", "WARNINGS")
	for _, f := range s.Feeds {
		every := "?"
		if f.ExpectedEverySeconds != nil {
			every = (time.Duration(*f.ExpectedEverySeconds) * time.Second).String()
		}
		day := f.Windows["24h"]
		table.Row(f.Channel, plain(shownOr(cmp.Or(f.SourceName, &f.Source))), f.LastReceivedAt, every, f.Stale,
			day.Received, day.Applied, day.Duplicates, day.Ignored, day.Rejected,
			day.Changed, day.Unchanged, day.Unused, day.OutsideUnit, day.Warnings)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, t := range s.Pipeline.Topics {
		fmt.Fprintf(out, "%s: %d records not applied, the oldest waiting for %d s\n", t.Name, t.Lag, t.OldestUnprocessedSeconds)
	}
	fmt.Fprintf(out, "processor last seen %s, %d dead letters\n", shownOr(s.Pipeline.ProcessorHeartbeatAt), s.Pipeline.DeadLetters)
	u := &s.UnitState
	fmt.Fprintf(out, "unit %s as of %s; rooms %s, occupied %s; unplaced patients %s, cancels waiting %s\n",
		shownOr(u.Level), shownOr(u.AsOf), shownOr(u.RoomsKnown), shownOr(u.RoomsOccupied),
		shownOr(u.UnplacedPatients), shownOr(u.CancelsWaiting))
	t := &s.Terminology
	_, err := fmt.Fprintf(out, "unmapped codes %s, received %s times in 24 h; unconfirmed locations %s\n",
		shownOr(t.UnmappedCodes), shownOr(t.UnmappedHits24h), shownOr(t.UnknownLocations))
	return err
}

// sourceStatus prints the status of one source (GET /api/ingest/status/{source}) as a table, for svc status SOURCE.
// SOURCE is the id or the name of the source's key.
func (c *client) sourceStatus(ctx context.Context) error {
	ask := request(http.MethodGet, "/api/ingest/status/{id}", func(c *client, s *sourceData) error { return s.print(c.Stdout) })
	err := ask(ctx, c)
	if no := (*refusal)(nil); errors.As(err, &no) && no.Code == "not_found" {
		if c.id, err = c.sourceNamed(ctx, c.id); err != nil {
			return err
		}
		return ask(ctx, c)
	}
	return err
}

// sourceNamed returns the id of the source with the given name. It returns an error if no source or several sources
// have that name.
func (c *client) sourceNamed(ctx context.Context, name string) (string, error) {
	var s statusData
	if err := c.askInto(ctx, http.MethodGet, "/api/ingest/status", nil, &s); err != nil {
		return "", err
	}
	var ids []string
	for _, f := range s.Feeds {
		if f.SourceName != nil && *f.SourceName == name && !slices.Contains(ids, f.Source) {
			ids = append(ids, f.Source)
		}
	}
	switch len(ids) {
	case 0:
		return "", errors.New("no key with that id or name has sent anything; svc status lists the keys that have")
	case 1:
		return ids[0], nil
	default:
		return "", fmt.Errorf("several keys have that name; use one of the ids %s", strings.Join(ids, ", "))
	}
}

// sourceData is the part of a source's status that svc status prints.
type sourceData struct {
	Source, SourceName string
	Feeds              []struct {
		Channel                     string
		Refusals, Warnings, Routine []sourceNotice
	}
}

// sourceNotice is one recent notice of a feed: a refusal, a warning, or a routine warning, such as that svc does not
// apply events of this type.
type sourceNotice struct{ At, ControlID, RequestID, Code, Path, EventType string }

func (s *sourceData) print(out io.Writer) error {
	fmt.Fprintf(out, "%s (%s)\n\n", plain(s.SourceName), s.Source)
	table := NewTable(out, "FEED", "WHAT", "AT", "CONTROL ID", "REQUEST ID", "CODE", "PLACE")
	lines := 0
	for _, f := range s.Feeds {
		for i, list := range [][]sourceNotice{f.Refusals, f.Warnings, f.Routine} {
			for _, n := range list {
				lines++
				table.Row(f.Channel, []string{"refused", "warning", "routine"}[i], n.At,
					cmp.Or(n.ControlID, "-"), cmp.Or(n.RequestID, "-"), n.Code, cmp.Or(strings.TrimSpace(n.Path+" "+n.EventType), "-"))
			}
		}
	}
	if lines == 0 {
		_, err := fmt.Fprintln(out, "no refusals or warnings")
		return err
	}
	return table.Flush()
}
