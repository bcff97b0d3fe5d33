package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
		verb(w, "list", "list who may see the pages, and who is invited", (*usersCommand).listUsers),
		verb(w, "set USER", "change a user; what is not given stays", (*usersCommand).set, (*usersCommand).settingFlags, (*usersCommand).versionFlag),
		verb(w, "end USER", "sign a person out everywhere", (*usersCommand).end, (*usersCommand).versionFlag),
		verb(w, "withdraw USER", "withdraw an invitation that nobody has used", (*usersCommand).withdraw),
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

// invitationData is an invitation in the form of the API.
type invitationData struct{ ID, Label, Role, CreatedAt, ExpiresAt string }

func (o *usersCommand) listUsers(ctx context.Context) error {
	var answer struct{ Users, Invitations json.RawMessage }
	if err := o.into(ctx, http.MethodGet, usersPath, nil, &answer); err != nil {
		return err
	}
	if o.json {
		return PrintJSON(o.Stdout, map[string]any{"items": answer.Users, "invitations": answer.Invitations})
	}
	var people []userData
	var invitations []invitationData
	if err := errors.Join(json.Unmarshal(answer.Users, &people), json.Unmarshal(answer.Invitations, &invitations)); err != nil {
		return fmt.Errorf("the answer is not one of svc: %w", err)
	}
	table := NewTable(o.Stdout, "ID", "LABEL", "ROLE", "SIGN-IN", "STATUS", "CREATED", "SIGNED IN", "UNTIL")
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

func (o *usersCommand) withdraw(ctx context.Context) error {
	var v invitationData
	return o.show(ctx, http.MethodDelete, usersPath+"/invitations/"+url.PathEscape(o.id), nil, &v, func() error { return o.Printf("withdrew %s\n", v.ID) })
}

func (o *usersCommand) change(ctx context.Context, body map[string]any, done string) error {
	var u userData
	return o.show(ctx, http.MethodPatch, usersPath+"/"+url.PathEscape(o.id), body, &u, func() error { return o.Printf("%s %s\n", done, u.ID) })
}
