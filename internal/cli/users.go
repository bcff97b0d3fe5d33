package cli

import (
	"context"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

const usersPath = "/api/admin/users"

// usersCommand is one run of a command of svc admin users.
type usersCommand struct {
	client
	label, role, disabled string
}

// PagesCommands returns the commands of svc admin that use the API. They administer the people
// who may see the pages.
func PagesCommands(w Env) []*cobra.Command {
	return []*cobra.Command{users(w), walls(w), layout(w)}
}

// users is svc admin users.
func users(w Env) *cobra.Command {
	c := &cobra.Command{Use: "users", Short: "administer who may see the pages"}
	c.AddCommand(
		verb(w, "list", "list who may see the pages", (*usersCommand).listUsers),
		verb(w, "set USER", "change a user; what is not given stays", (*usersCommand).set, (*usersCommand).settingFlags, (*usersCommand).versionFlag),
		verb(w, "end USER", "sign a person out everywhere", (*usersCommand).end, (*usersCommand).versionFlag),
	)
	return c
}

func (o *usersCommand) settingFlags(c *cobra.Command) {
	c.Flags().StringVar(&o.label, "label", "", "what to call the person")
	OneOf(c, &o.role, "role", "", "what a user of a link may do: viewer, charge or admin", "viewer", "charge", "admin")
	OneOf(c, &o.disabled, "disabled", "", "true: signed out, and cannot sign in", "true", "false")
}

// userData is a user in the form of the API.
type userData struct {
	ID, Label, Role, SignIn, CreatedAt string
	Disabled                           bool
	SignedInAt, Until                  *string
	Version                            int64
}

func (o *usersCommand) listUsers(ctx context.Context) error {
	var all []userData
	return o.list(ctx, usersPath, "users", &all, func() error {
		table := NewTable(o.Stdout, "ID", "LABEL", "ROLE", "SIGN-IN", "STATUS", "SIGNED IN", "UNTIL")
		for i := range all {
			u := &all[i]
			status := "active"
			if u.Disabled {
				status = "disabled"
			}
			table.Row(u.ID, plain(u.Label), u.Role, u.SignIn, status, orDash(u.SignedInAt), orDash(u.Until))
		}
		return table.Flush()
	})
}

func (o *usersCommand) set(ctx context.Context) error {
	body := map[string]any{}
	o.put(body, "label", "label", o.label)
	o.put(body, "role", "role", o.role)
	o.put(body, "disabled", "disabled", o.disabled == "true")
	return o.change(ctx, body, "changed")
}

func (o *usersCommand) end(ctx context.Context) error {
	return o.change(ctx, map[string]any{"endSessions": true}, "ended the sessions of")
}

func (o *usersCommand) change(ctx context.Context, body map[string]any, done string) error {
	var u userData
	return o.show(ctx, http.MethodPatch, usersPath+"/"+url.PathEscape(o.id), body, &u, func() error { return o.Printf("%s %s\n", done, u.ID) })
}
