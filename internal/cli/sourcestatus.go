package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
)

// sourceStatus is svc status SOURCE: GET /api/ingest/status/{source}, for people. The source
// may be given by the name of its key.
func sourceStatus(ctx context.Context, c *client, source string) error {
	data, err := c.ask(ctx, http.MethodGet, "/api/ingest/status/"+url.PathEscape(source), nil)
	if no := (*refusal)(nil); errors.As(err, &no) && no.Code == "not_found" {
		var id string
		if id, err = sourceNamed(ctx, c, source); err != nil {
			return err
		}
		data, err = c.ask(ctx, http.MethodGet, "/api/ingest/status/"+url.PathEscape(id), nil)
	}
	if err != nil {
		return err
	}
	if c.json {
		return PrintJSON(c.Stdout, data)
	}
	var s sourceData
	if err = json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("the answer is not one of svc: %w", err)
	}
	return s.print(c.Stdout)
}

// sourceNamed returns the id of the only source with a name.
func sourceNamed(ctx context.Context, c *client, name string) (string, error) {
	data, err := c.ask(ctx, http.MethodGet, "/api/ingest/status", nil)
	if err != nil {
		return "", err
	}
	var s statusData
	if err = json.Unmarshal(data, &s); err != nil {
		return "", fmt.Errorf("the answer is not one of svc: %w", err)
	}
	var ids []string
	for _, f := range s.Feeds {
		if f.SourceName != nil && *f.SourceName == name && !slices.Contains(ids, f.Source) {
			ids = append(ids, f.Source)
		}
	}
	switch len(ids) {
	case 0:
		return "", errors.New("no key of that id or name has sent anything; svc status lists those that have")
	case 1:
		return ids[0], nil
	default:
		return "", fmt.Errorf("several keys have that name, say which: %s", strings.Join(ids, ", "))
	}
}

// sourceData is what svc status shows of one source.
type sourceData struct {
	Source, SourceName string
	Feeds              []struct {
		Channel            string
		Refusals, Warnings []sourceNotice
	}
}

// sourceNotice is a refusal of a message, or a warning about it.
type sourceNotice struct{ At, ControlID, RequestID, Code, Path string }

func (s *sourceData) print(out io.Writer) error {
	fmt.Fprintf(out, "%s (%s)\n\n", plain(s.SourceName), s.Source)
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "FEED\tWHAT\tAT\tCONTROL ID\tREQUEST ID\tCODE\tPLACE")
	lines := 0
	for _, f := range s.Feeds {
		for i, list := range [][]sourceNotice{f.Refusals, f.Warnings} {
			for _, n := range list {
				lines++
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Channel, []string{"refused", "warning"}[i], n.At,
					cmp.Or(n.ControlID, "-"), cmp.Or(n.RequestID, "-"), n.Code, cmp.Or(n.Path, "-"))
			}
		}
	}
	if lines == 0 {
		_, err := fmt.Fprintln(out, "nothing was refused or warned about")
		return err
	}
	return table.Flush()
}
