package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
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
	world
	callOptions
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
		return o.ask(ctx, http.MethodGet, path, &l, func() error { return printLetters(o.stdout, []letterRow{l}) })
	default:
		var done struct {
			Outcome, Position  *string
			Activated, Expired []struct{}
			Applied, Repeated  bool
			Warnings, Unmapped []struct{}
			Level              *string
		}
		return o.ask(ctx, http.MethodPost, path+"/retry", &done, func() error {
			before := ""
			if done.Repeated {
				before = " (taken in before)"
			}
			_, err := fmt.Fprintf(o.stdout, "%s at %s%s; factors activated %d, expired %d; codes not understood %d, warnings %d; level %s\n",
				shownOr(done.Outcome), shownOr(done.Position), before, len(done.Activated), len(done.Expired),
				len(done.Unmapped), len(done.Warnings), shownOr(done.Level))
			return err
		})
	}
}

func parseDeadLetters(args []string, w world) (*deadLettersCommand, error) {
	o := &deadLettersCommand{world: w}
	flags := flag.NewFlagSet("svc dead-letters", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.to, "to", "", "`address` of the server: https://HOST (default: the running svc dev)")
	flags.StringVar(&o.key, "key", "", "API `key` with the scope admin (default: that of the running svc dev)")
	flags.StringVar(&o.data, "data", defaultData, "data `folder` of the running svc dev, if no address is given")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	var words []string
	for { // words and flags in any order
		if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(w.stdout, deadLettersUsage)
			flags.SetOutput(w.stdout)
			flags.PrintDefaults()
			return nil, err
		} else if err != nil {
			return nil, usageError{err}
		}
		if flags.NArg() == 0 {
			break
		}
		words = append(words, flags.Arg(0))
		args = flags.Args()[1:]
	}
	faults := fromEnvironment(flags, w.env)
	if len(words) == 0 || !slices.Contains([]string{"list", "show", "retry"}, words[0]) {
		return nil, usageError{errors.New("say list, show or retry; -help says more")}
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
	if o.to == "" {
		running, err := readDevFile(o.data)
		if err != nil {
			faults = append(faults, fmt.Errorf("name a server by -to, or start svc dev (%w)", err))
		} else if o.to = running.BaseURL; o.key == "" {
			o.key = running.AdminKey
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, usageError{err}
	}
	return o, nil
}

// ask calls the server and shows the answer: as it came, or by print.
func (o *deadLettersCommand) ask(ctx context.Context, method, path string, into any, print func() error) error {
	data, err := o.call(ctx, method, path)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(o.stdout, data)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("the answer is not one of svc: %w", err)
	}
	return print()
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
		data, err := o.call(ctx, http.MethodGet, "/api/admin/dead-letters"+query)
		if err != nil {
			return err
		}
		var page struct {
			Items      []letterRow
			NextCursor *string
		}
		if err := json.Unmarshal(data, &page); err != nil {
			return fmt.Errorf("the answer is not one of svc: %w", err)
		}
		all = append(all, page.Items...)
		query = ""
		if page.NextCursor != nil {
			query = "?limit=200&cursor=" + url.QueryEscape(*page.NextCursor)
		}
	}
	if o.json {
		return printJSON(o.stdout, all)
	}
	return printLetters(o.stdout, all)
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
