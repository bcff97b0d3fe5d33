package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

const (
	wallsPath  = "/api/admin/walls"
	layoutPath = "/api/admin/layout"
)

// wallsCommand is one run of a command of svc admin walls or svc admin layout.
type wallsCommand struct {
	client
	id, version string
}

func wallsVerb(w Env, use, short string, run func(*wallsCommand, context.Context) error) (*wallsCommand, *cobra.Command) {
	o := &wallsCommand{client: client{Env: w}}
	c := o.command(use, short, func(ctx context.Context, args []string) error {
		o.id = strings.Join(args, " ")
		return run(o, ctx)
	})
	return o, c
}

// walls is svc admin walls.
func walls(w Env) *cobra.Command {
	_, list := wallsVerb(w, "list", "list the screens that show the board", (*wallsCommand).listWalls)
	_, add := wallsVerb(w, "add LABEL", "make the link of a screen, and print it: this is the only time it is shown", (*wallsCommand).add)
	_, revoke := wallsVerb(w, "revoke WALL", "end a screen now", (*wallsCommand).revoke)
	c := &cobra.Command{Use: "walls", Short: "administer the screens that show the board"}
	c.AddCommand(list, add, revoke)
	return c
}

// layout is svc admin layout.
func layout(w Env) *cobra.Command {
	_, show := wallsVerb(w, "show", "print where the rooms are drawn, as JSON", (*wallsCommand).showLayout)
	o, set := wallsVerb(w, "set FILE", "draw the unit as a file of JSON says; - is standard input", (*wallsCommand).setLayout)
	versionFlag(set, &o.version)
	c := &cobra.Command{Use: "layout", Short: "administer where the rooms are drawn on the pages"}
	c.AddCommand(show, set)
	return c
}

// wallData is a screen in the form of the API.
type wallData struct{ ID, Label, CreatedAt, URL string }

func (o *wallsCommand) listWalls(ctx context.Context) error {
	var all []wallData
	return o.list(ctx, wallsPath, "walls", &all, func() error {
		table := tabwriter.NewWriter(o.Stdout, 0, 4, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tLABEL\tCREATED")
		for _, wall := range all {
			fmt.Fprintf(table, "%s\t%s\t%s\n", wall.ID, plain(wall.Label), wall.CreatedAt)
		}
		return table.Flush()
	})
}

func (o *wallsCommand) add(ctx context.Context) error {
	var wall wallData
	return o.show(ctx, http.MethodPost, wallsPath, map[string]string{"label": o.id}, &wall, func() error {
		fmt.Fprintf(o.Stderr, "%s; this is the only time its link is shown\n", wall.ID)
		if strings.HasPrefix(wall.URL, "/") {
			wall.URL = o.api + wall.URL
		}
		_, err := fmt.Fprintln(o.Stdout, wall.URL)
		return err
	})
}

func (o *wallsCommand) revoke(ctx context.Context) error {
	var wall wallData
	return o.show(ctx, http.MethodDelete, wallsPath+"/"+url.PathEscape(o.id), nil, &wall, func() error {
		_, err := fmt.Fprintf(o.Stdout, "revoked %s\n", wall.ID)
		return err
	})
}

func (o *wallsCommand) showLayout(ctx context.Context) error {
	raw, err := o.ask(ctx, http.MethodGet, layoutPath, nil)
	if err != nil {
		return err
	}
	return PrintJSON(o.Stdout, raw)
}

func (o *wallsCommand) setLayout(ctx context.Context) error {
	in := io.Reader(os.Stdin)
	if o.id != "-" {
		file, err := os.Open(o.id)
		if err != nil {
			return fmt.Errorf("FILE: %w", WithoutPath(err))
		}
		defer file.Close() //nolint:errcheck // it was read
		in = file
	}
	content, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("FILE: %w", WithoutPath(err))
	}
	var drawn map[string]any
	if err := json.Unmarshal(content, &drawn); err != nil {
		return errors.New("FILE: must hold one object of JSON, as svc admin layout show prints it")
	}
	delete(drawn, "version") // version of the layout that was read
	var set struct{ Version int64 }
	return o.show(ctx, http.MethodPut, layoutPath, drawn, &set, func() error {
		_, err := fmt.Fprintf(o.Stdout, "drawn, version %d\n", set.Version)
		return err
	}, precondition(o.version)...)
}
