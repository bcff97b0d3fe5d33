package cli

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

const deadLettersPath = "/api/admin/dead-letters"

// DeadLettersCommand is svc dead-letters: it administers the dead letters of a
// hospital through its API.
func DeadLettersCommand(w Env) *cobra.Command {
	c := &cobra.Command{Use: "dead-letters", Short: "administer records that could not be applied"}
	c.AddCommand(
		verb(w, "list", "list them", (*client).listDeadLetters),
		verb(w, "show ID", "show one", (*client).showDeadLetter),
		verb(w, "retry ID", "take in its facts again", (*client).retryDeadLetter),
	)
	return c
}

func (c *client) deadLetterPath() string { return deadLettersPath + "/" + url.PathEscape(c.id) }

func (c *client) showDeadLetter(ctx context.Context) error {
	var l letterRow
	return c.show(ctx, http.MethodGet, c.deadLetterPath(), nil, &l, func() error { return printLetters(c.Stdout, []letterRow{l}) })
}

func (c *client) retryDeadLetter(ctx context.Context) error {
	var done struct {
		Outcome, Position  *string
		Activated, Expired []struct{}
		Applied, Repeated  bool
		Warnings, Unmapped []struct{}
		Level              *string
	}
	return c.show(ctx, http.MethodPost, c.deadLetterPath()+"/retry", nil, &done, func() error {
		before := ""
		if done.Repeated {
			before = " (taken in before)"
		}
		return c.Printf("%s at %s%s; factors activated %d, expired %d; codes not understood %d, warnings %d; level %s\n",
			shownOr(done.Outcome), shownOr(done.Position), before, len(done.Activated), len(done.Expired),
			len(done.Unmapped), len(done.Warnings), shownOr(done.Level))
	})
}

// letterRow is a dead letter in the form of the API.
type letterRow struct {
	ID        string `json:"id"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Reason    string `json:"reason"`
	SchemaID  *int32 `json:"schemaId"`
	Version   int64  `json:"version"`
	At        string `json:"at"`
}

// listDeadLetters shows all pages of the list.
func (c *client) listDeadLetters(ctx context.Context) error {
	all := []letterRow{}
	for query := "?limit=200"; query != ""; {
		var page struct {
			Items      []letterRow
			NextCursor *string
		}
		if err := c.into(ctx, http.MethodGet, deadLettersPath+query, nil, &page); err != nil {
			return err
		}
		all = append(all, page.Items...)
		query = ""
		if page.NextCursor != nil {
			query = "?limit=200&cursor=" + url.QueryEscape(*page.NextCursor)
		}
	}
	if c.json {
		return PrintItems(c.Stdout, all)
	}
	return printLetters(c.Stdout, all)
}

func printLetters(out io.Writer, all []letterRow) error {
	table := NewTable(out, "ID", "TOPIC", "REASON", "SCHEMA", "VERSION", "AT")
	for i := range all {
		l := &all[i]
		table.Row(l.ID, l.Topic, l.Reason, orDash(l.SchemaID), l.Version, l.At)
	}
	return table.Flush()
}
