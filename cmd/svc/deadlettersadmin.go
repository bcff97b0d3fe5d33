package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"text/tabwriter"
)

const deadLettersUsage = `usage: svc dead-letters list [flags]
       svc dead-letters show ID [flags]
       svc dead-letters retry ID [flags]

`

// deadLettersCommand is one run of svc dead-letters.
type deadLettersCommand struct {
	*client
	verb, id string
}

// runDeadLetters administers the dead letters of a hospital through its API.
func runDeadLetters(ctx context.Context, args []string, w world) error {
	o, err := parseDeadLetters(args, w)
	if err != nil {
		return err
	}
	switch path := "/api/admin/dead-letters/" + url.PathEscape(o.id); o.verb {
	case "list":
		return o.list(ctx)
	case "show":
		var l letterRow
		return o.show(ctx, http.MethodGet, path, nil, &l, func() error { return printLetters(o.Stdout, []letterRow{l}) })
	default:
		var done struct {
			Outcome, Position  *string
			Activated, Expired []struct{}
			Applied, Repeated  bool
			Warnings, Unmapped []struct{}
			Level              *string
		}
		return o.show(ctx, http.MethodPost, path+"/retry", nil, &done, func() error {
			before := ""
			if done.Repeated {
				before = " (taken in before)"
			}
			_, err := fmt.Fprintf(o.Stdout, "%s at %s%s; factors activated %d, expired %d; codes not understood %d, warnings %d; level %s\n",
				shownOr(done.Outcome), shownOr(done.Position), before, len(done.Activated), len(done.Expired),
				len(done.Unmapped), len(done.Warnings), shownOr(done.Level))
			return err
		})
	}
}

func parseDeadLetters(args []string, w world) (*deadLettersCommand, error) {
	o := &deadLettersCommand{client: newClient("dead-letters", deadLettersUsage, w)}
	words, faults, err := o.parse(args)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 || !slices.Contains([]string{"list", "show", "retry"}, words[0]) {
		return nil, usageError(errors.New("say list, show or retry; --help says more"))
	}
	o.verb, words = words[0], words[1:]
	if o.verb != "list" {
		if len(words) == 0 {
			faults = append(faults, errors.New("name a dead letter by its id; svc dead-letters list shows them"))
		} else {
			o.id, words = words[0], words[1:]
		}
	}
	if len(words) > 0 {
		faults = append(faults, fmt.Errorf("unexpected argument %q", words[0]))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, usageError(err)
	}
	return o, nil
}

// letterRow is a dead letter as the API has it.
type letterRow struct {
	ID          string  `json:"id"`
	Topic       string  `json:"topic"`
	Partition   int32   `json:"partition"`
	Offset      int64   `json:"offset"`
	Reason      string  `json:"reason"`
	Fingerprint *string `json:"fingerprint"`
	Version     int64   `json:"version"`
	At          string  `json:"at"`
}

// list shows all pages.
func (o *deadLettersCommand) list(ctx context.Context) error {
	all := []letterRow{}
	for query := "?limit=200"; query != ""; {
		var page struct {
			Items      []letterRow
			NextCursor *string
		}
		if err := o.into(ctx, http.MethodGet, "/api/admin/dead-letters"+query, nil, &page); err != nil {
			return err
		}
		all = append(all, page.Items...)
		query = ""
		if page.NextCursor != nil {
			query = "?limit=200&cursor=" + url.QueryEscape(*page.NextCursor)
		}
	}
	if o.json {
		return printJSON(o.Stdout, all)
	}
	return printLetters(o.Stdout, all)
}

func printLetters(out io.Writer, all []letterRow) error {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tTOPIC\tREASON\tSCHEMA\tVERSION\tAT")
	for i := range all {
		l := &all[i]
		schema := "-"
		if l.Fingerprint != nil {
			schema = *l.Fingerprint
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\n", l.ID, l.Topic, l.Reason, schema, l.Version, l.At)
	}
	return table.Flush()
}
