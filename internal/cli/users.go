package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const usersPath = "/api/admin/users"

// usersCommand is one run of a command of svc admin users.
type usersCommand struct {
	client
	flags *pflag.FlagSet
	id    string

	label, role, disabled, version string
}

// PagesCommands returns the commands of svc admin that use the API. They administer the people
// who may see the pages.
func PagesCommands(w Env) []*cobra.Command {
	return []*cobra.Command{users(w), walls(w), layout(w)}
}

// users is svc admin users.
func users(w Env) *cobra.Command {
	verb := func(use, short string, run func(*usersCommand, context.Context) error) (*usersCommand, *cobra.Command) {
		o := &usersCommand{client: client{Env: w}}
		c := o.command(use, short, func(ctx context.Context, args []string) error {
			o.id = strings.Join(args, "")
			return run(o, ctx)
		})
		o.flags = c.Flags()
		return o, c
	}
	_, list := verb("list", "list who may see the pages", (*usersCommand).listUsers)
	o, set := verb("set USER", "change a user; what is not given stays", (*usersCommand).set)
	set.Flags().StringVar(&o.label, "label", "", "what to call the person")
	OneOf(set, &o.role, "role", "", "what a user of a link may do: viewer, charge or admin", "viewer", "charge", "admin")
	OneOf(set, &o.disabled, "disabled", "", "true: signed out, and cannot sign in", "true", "false")
	versionFlag(set, &o.version)
	o, end := verb("end USER", "sign a person out everywhere", (*usersCommand).end)
	versionFlag(end, &o.version)
	c := &cobra.Command{Use: "users", Short: "administer who may see the pages"}
	c.AddCommand(list, set, end)
	return c
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
		table := tabwriter.NewWriter(o.Stdout, 0, 4, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tLABEL\tROLE\tSIGN-IN\tSTATUS\tSIGNED IN\tUNTIL")
		for i := range all {
			u := &all[i]
			status := "active"
			if u.Disabled {
				status = "disabled"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", u.ID, plain(u.Label), u.Role, u.SignIn, status, orDash(u.SignedInAt), orDash(u.Until))
		}
		return table.Flush()
	})
}

func orDash(text *string) string {
	if text == nil {
		return "-"
	}
	return *text
}

func (o *usersCommand) set(ctx context.Context) error {
	body := map[string]any{}
	if o.flags.Changed("label") {
		body["label"] = o.label
	}
	if o.flags.Changed("role") {
		body["role"] = o.role
	}
	if o.flags.Changed("disabled") {
		body["disabled"] = o.disabled == "true"
	}
	return o.change(ctx, body, "changed")
}

func (o *usersCommand) end(ctx context.Context) error {
	return o.change(ctx, map[string]any{"endSessions": true}, "ended the sessions of")
}

func (o *usersCommand) change(ctx context.Context, body map[string]any, done string) error {
	var u userData
	return o.show(ctx, http.MethodPatch, usersPath+"/"+url.PathEscape(o.id), body, &u, func() error {
		_, err := fmt.Fprintf(o.Stdout, "%s %s\n", done, u.ID)
		return err
	}, precondition(o.version)...)
}
