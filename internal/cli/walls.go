package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

const (
	wallsPath  = "/api/admin/walls"
	layoutPath = "/api/admin/layout"
)

// walls is svc admin walls.
func walls(w Env) *cobra.Command {
	c := &cobra.Command{Use: "walls", Short: "administer the screens that show the board"}
	c.AddCommand(
		verb(w, "list", "list the screens that show the board", (*client).listWalls),
		verb(w, "add LABEL", "make the link of a screen, and print it: this is the only time it is shown", (*client).addWall),
		verb(w, "revoke WALL", "end a screen now", (*client).revokeWall),
	)
	return c
}

// layout is svc admin layout.
func layout(w Env) *cobra.Command {
	c := &cobra.Command{Use: "layout", Short: "administer where the rooms are drawn on the pages"}
	c.AddCommand(
		verb(w, "show", "print where the rooms are drawn, as JSON", (*client).showLayout),
		verb(w, "set FILE", "draw the unit as a file of JSON says; - is standard input", (*client).setLayout, (*client).versionFlag),
	)
	return c
}

// wallData is a screen in the form of the API.
type wallData struct{ ID, Label, CreatedAt, URL string }

func (c *client) listWalls(ctx context.Context) error {
	var all []wallData
	return c.list(ctx, wallsPath, "walls", &all, func() error {
		table := NewTable(c.Stdout, "ID", "LABEL", "CREATED")
		for _, wall := range all {
			table.Row(wall.ID, plain(wall.Label), wall.CreatedAt)
		}
		return table.Flush()
	})
}

func (c *client) addWall(ctx context.Context) error {
	var wall wallData
	return c.show(ctx, http.MethodPost, wallsPath, map[string]string{"label": c.id}, &wall, func() error {
		fmt.Fprintf(c.Stderr, "%s; this is the only time its link is shown\n", wall.ID)
		if strings.HasPrefix(wall.URL, "/") {
			wall.URL = c.api + wall.URL
		}
		return c.Printf("%s\n", wall.URL)
	})
}

func (c *client) revokeWall(ctx context.Context) error {
	var wall wallData
	return c.show(ctx, http.MethodDelete, wallsPath+"/"+url.PathEscape(c.id), nil, &wall, func() error { return c.Printf("revoked %s\n", wall.ID) })
}

func (c *client) showLayout(ctx context.Context) error {
	raw, err := c.ask(ctx, http.MethodGet, layoutPath, nil)
	if err != nil {
		return err
	}
	return PrintJSON(c.Stdout, raw)
}

func (c *client) setLayout(ctx context.Context) error {
	in, err := OpenInput(ctx, c.id)
	if err != nil {
		return fmt.Errorf("FILE: %w", err)
	}
	defer in.Close() //nolint:errcheck // it was only read
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
	return c.show(ctx, http.MethodPut, layoutPath, drawn, &set, func() error { return c.Printf("drawn, version %d\n", set.Version) })
}
