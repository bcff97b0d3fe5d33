package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// sourceStatus is svc status SOURCE: GET /api/ingest/status/{source}, for people. The source
// may be given by the name of its key.
func (c *client) sourceStatus(ctx context.Context) error {
	show := func(id string) error {
		var s sourceData
		return c.show(ctx, http.MethodGet, "/api/ingest/status/"+url.PathEscape(id), nil, &s, func() error { return s.print(c.Stdout) })
	}
	err := show(c.id)
	if no := (*refusal)(nil); errors.As(err, &no) && no.Code == "not_found" {
		id, fault := c.sourceNamed(ctx, c.id)
		if fault != nil {
			return fault
		}
		return show(id)
	}
	return err
}

// sourceNamed returns the id of the only source with a name.
func (c *client) sourceNamed(ctx context.Context, name string) (string, error) {
	var s statusData
	if err := c.into(ctx, http.MethodGet, "/api/ingest/status", nil, &s); err != nil {
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
	table := NewTable(out, "FEED", "WHAT", "AT", "CONTROL ID", "REQUEST ID", "CODE", "PLACE")
	lines := 0
	for _, f := range s.Feeds {
		for i, list := range [][]sourceNotice{f.Refusals, f.Warnings} {
			for _, n := range list {
				lines++
				table.Row(f.Channel, []string{"refused", "warning"}[i], n.At,
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
