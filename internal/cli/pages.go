package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

const (
	usersPath  = "/api/admin/users"
	wallsPath  = "/api/admin/walls"
	layoutPath = "/api/admin/layout"
)

// PagesCommands returns the commands of svc admin that use the API. They administer access to the pages.
func PagesCommands(w Env) []*cobra.Command {
	return []*cobra.Command{users(w), walls(w), layout(w)}
}

// users returns the command svc admin users.
func users(w Env) *cobra.Command {
	c := &cobra.Command{Use: "users", Short: "administer access to the pages"}
	endSessions := func(ctx context.Context, c *client) error {
		return show(ctx, c, http.MethodPatch, usersPath+"/{id}", map[string]any{"endSessions": true}, printID("ended the sessions of %s"))
	}
	c.AddCommand(
		verb(w, "list", "list the users of the pages, and unused invitations", listUsers),
		verb(w, "set USER", "change a user; omitted values are unchanged",
			request(http.MethodPatch, usersPath+"/{id}", printChangedUser),
			fields(
				field{"label", "label", "display name of the person", textField},
				field{"role", "role", "role of a user of a sign-in link: viewer, charge or admin", wordField("viewer", "charge", "admin")},
				field{"disabled", "disabled", "true: the person is signed out and cannot sign in", truthField},
			), ifVersion),
		verb(w, "end USER", "sign a person out everywhere", endSessions, ifVersion),
		verb(w, "withdraw USER", "withdraw an unused invitation",
			request(http.MethodDelete, usersPath+"/invitations/{id}", printID("withdrew %s"))),
	)
	return c
}

func printChangedUser(c *client, u *struct {
	ID       string
	Warnings []warningData
},
) error {
	if c.warn(u.Warnings) {
		return nil
	}
	return c.Printf("changed %s\n", u.ID)
}

func listUsers(ctx context.Context, c *client) error {
	var answer struct{ Users, Invitations json.RawMessage }
	if err := c.askInto(ctx, http.MethodGet, usersPath, nil, &answer); err != nil {
		return err
	}
	if c.json {
		return PrintJSON(c.Stdout, map[string]any{"items": answer.Users, "invitations": answer.Invitations})
	}
	var people []struct {
		ID, Label, Role, SignIn, CreatedAt string
		Disabled                           bool
		SignedInAt, Until                  *string
	}
	var invitations []struct{ ID, Label, Role, CreatedAt, ExpiresAt string }
	if err := errors.Join(json.Unmarshal(answer.Users, &people), json.Unmarshal(answer.Invitations, &invitations)); err != nil {
		return fmt.Errorf("the response is not from svc: %w", err)
	}
	table := NewTable(c.Stdout, "ID", "LABEL", "ROLE", "SIGN-IN", "STATUS", "CREATED", "SIGNED IN", "UNTIL")
	for i := range people {
		u := &people[i]
		status := "active"
		if u.Disabled {
			status = "disabled"
		}
		table.Row(u.ID, plain(u.Label), u.Role, u.SignIn, status, u.CreatedAt, orDash(u.SignedInAt), orDash(u.Until))
	}
	for i := range invitations {
		v := &invitations[i]
		table.Row(v.ID, plain(v.Label), v.Role, "link", "invited", v.CreatedAt, "-", v.ExpiresAt)
	}
	return table.Flush()
}

// walls returns the command svc admin walls.
func walls(w Env) *cobra.Command {
	c := &cobra.Command{Use: "walls", Short: "administer wall displays"}
	c.AddCommand(
		verb(w, "list", "list wall displays", list(wallsPath, "walls", printWalls)),
		verb(w, "add LABEL", "create a link for a wall display and print it; it is shown only once",
			request(http.MethodPost, wallsPath, printWallLink), idField("label")),
		verb(w, "link WALL", "create another link for a wall display, which shows nothing until the link is used",
			request(http.MethodPost, wallsPath+"/{id}/link", printWallLink)),
		verb(w, "revoke WALL", "revoke a wall display", request(http.MethodDelete, wallsPath+"/{id}", printID("revoked %s"))),
	)
	return c
}

// wallData is a wall display as the API represents it.
type wallData struct{ ID, Label, CreatedAt, URL string }

func printWalls(c *client, all []wallData) error {
	return printTable(c, all, func(w *wallData) []any { return []any{w.ID, plain(w.Label), w.CreatedAt} }, "ID", "LABEL", "CREATED")
}

func printWallLink(c *client, wall *wallData) error {
	fmt.Fprintf(c.Stderr, "%s; this is the only time its link is shown\n", wall.ID)
	if strings.HasPrefix(wall.URL, "/") {
		wall.URL = c.api + wall.URL
	}
	return c.Printf("%s\n", wall.URL)
}

// layout returns the command svc admin layout.
func layout(w Env) *cobra.Command {
	c := &cobra.Command{Use: "layout", Short: "administer the floor plan of the unit"}
	printLayout := func(c *client, drawn *json.RawMessage) error { return PrintJSON(c.Stdout, *drawn) }
	c.AddCommand(
		verb(w, "show", "print the floor plan as JSON", request(http.MethodGet, layoutPath, printLayout)),
		verb(w, "set FILE", "set the floor plan from a JSON file; - is standard input", setLayout, ifVersion),
	)
	return c
}

func setLayout(ctx context.Context, c *client) error {
	in, err := OpenInput(ctx, c.id)
	if err != nil {
		return fmt.Errorf("FILE: %w", err)
	}
	defer in.Close() //nolint:errcheck // the file was only read
	content, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("FILE: %w", WithoutPath(err))
	}
	var drawn map[string]any
	if err := json.Unmarshal(content, &drawn); err != nil {
		return errors.New("FILE: must contain one JSON object as printed by svc admin layout show")
	}
	delete(drawn, "version") // the version in the file is that of an earlier layout
	return show(ctx, c, http.MethodPut, layoutPath, drawn, func(c *client, set *struct {
		Version  int64
		Warnings []warningData
	},
	) error {
		if c.warn(set.Warnings) {
			return nil
		}
		return c.Printf("floor plan set, version %d\n", set.Version)
	})
}
