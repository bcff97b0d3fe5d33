package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// StatusCommand is svc status: GET /api/ingest/status, for people. Its exit code is 1 unless
// the status is ok. With a source it shows the status of that source.
func StatusCommand(w Env) *cobra.Command {
	c := &client{Env: w, reader: true}
	cmd := c.command("status [SOURCE]", "tell how the feeds of a hospital are doing, or what one sent wrong", func(ctx context.Context) error {
		if c.flags.NArg() > 0 {
			return c.sourceStatus(ctx)
		}
		return c.status(ctx)
	})
	cmd.Long = `With SOURCE, the id or name of an API key, it lists what was refused or warned
about. Without, it ends with exit code 1 unless the status is ok.`
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

// statusData is the part of the answer that svc status shows.
type statusData struct {
	Status  string
	Reasons []string
	Feeds   []struct {
		Channel, Source      string
		SourceName           *string
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
	table := NewTable(out, "FEED", "SOURCE", "LAST", "USUALLY EVERY", "STALE", "LAST 24 H: RECEIVED", "APPLIED", "DUPLICATES", "IGNORED", "REJECTED", "WARNINGS")
	for _, f := range s.Feeds {
		every := "?"
		if f.ExpectedEverySeconds != nil {
			every = (time.Duration(*f.ExpectedEverySeconds) * time.Second).String()
		}
		day := f.Windows["24h"]
		table.Row(f.Channel, plain(shownOr(cmp.Or(f.SourceName, &f.Source))), f.LastReceivedAt, every, f.Stale,
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
