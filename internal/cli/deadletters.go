package cli

import (
	"context"
	"math"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

const deadLettersPath = "/api/admin/dead-letters"

// DeadLettersCommand returns the command svc dead-letters, which manages a hospital's dead letters through the API.
func DeadLettersCommand(w Env) *cobra.Command {
	c := &cobra.Command{Use: "dead-letters", Short: "administer records that could not be applied"}
	c.AddCommand(
		verb(w, "list", "list dead letters", listDeadLetters),
		verb(w, "show ID", "show a dead letter", request(http.MethodGet, deadLettersPath+"/{id}", alone(printDeadLetters))),
		verb(w, "retry ID", "apply the record of a dead letter again", request(http.MethodPost, deadLettersPath+"/{id}/retry", printRetried)),
	)
	return c
}

// deadLetterData is a dead letter as the API represents it.
type deadLetterData struct {
	ID        string `json:"id"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Reason    string `json:"reason"`
	SchemaID  *int32 `json:"schemaId"`
	Version   int64  `json:"version"`
	At        string `json:"at"`
}

// retriedData is the result of retrying a dead letter.
type retriedData struct {
	Outcome, Position  *string
	Activated, Expired []struct{}
	Applied, Repeated  bool
	Warnings, Unmapped []struct{}
	Level              *string
}

func printRetried(c *client, done *retriedData) error {
	before := ""
	if done.Repeated {
		before = " (already applied)"
	}
	return c.Printf("%s at %s%s; factors: %d activated, %d expired; unmapped codes %d, warnings %d; level %s\n",
		shownOr(done.Outcome), shownOr(done.Position), before, len(done.Activated), len(done.Expired),
		len(done.Unmapped), len(done.Warnings), shownOr(done.Level))
}

// listDeadLetters shows all pages of the list.
func listDeadLetters(ctx context.Context, c *client) error {
	all, err := pages[deadLetterData](ctx, c, deadLettersPath, url.Values{"limit": {"200"}}, math.MaxInt)
	if err != nil {
		return err
	}
	if c.json {
		return PrintItems(c.Stdout, all)
	}
	return printDeadLetters(c, all)
}

func printDeadLetters(c *client, all []deadLetterData) error {
	return printTable(c, all, func(l *deadLetterData) []any {
		return []any{l.ID, l.Topic, l.Reason, orDash(l.SchemaID), l.Version, l.At}
	}, "ID", "TOPIC", "REASON", "SCHEMA", "VERSION", "AT")
}
