// Package commands implements the administration commands that access Kafka directly, without a server.
package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"svc/internal/admin/audit"
	"svc/internal/admin/keys"
	"svc/internal/admin/settings"
	"svc/internal/admin/users"
	"svc/internal/cli"
	"svc/internal/config"
	"svc/internal/httpapi/access"
	"svc/internal/kafkacli"
	"svc/readapi/web/signin"
)

// group returns a command with subcommands.
func group(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(below...)
	return cmd
}

// AdminCommand returns the command svc admin, which administers access to the pages.
func AdminCommand(w cli.Env) *cobra.Command {
	return group("admin", "administer access to the pages", append(cli.PagesCommands(w), linkCommand(w))...)
}

// linkOptions are the flags of svc admin link.
type linkOptions struct {
	*kafkacli.Command
	hospital, label, role string
	ttl                   time.Duration
}

// mostLabel is the maximum length of a person's name, in characters.
const mostLabel = 100

func linkCommand(w cli.Env) *cobra.Command {
	o := &linkOptions{Command: kafkacli.New(w, config.NeedLinks)}
	c := o.Cobra("link", "create a single-use sign-in link, and print it", func(ctx context.Context, _ []string) error {
		return o.Connected(ctx, o.make)
	})
	c.Long = "The first person who opens the link is signed in to the pages. A link works without the identity provider, and each use " +
		"is recorded."
	f := c.Flags()
	f.StringVar(&o.hospital, "hospital", "", "`id` of the hospital whose pages it opens")
	f.StringVar(&o.label, "label", "", "`name` of the person in lists and records (default: the role)")
	cli.OneOf(c, &o.role, "role", string(users.Viewer), "`role` of the person: viewer, charge or admin",
		string(users.Viewer), string(users.Charge), string(users.Admin))
	f.DurationVar(&o.ttl, "ttl", 15*time.Minute, "`lifetime` of the link, 1m to 24h") //nolint:mnd // as documented
	cli.Require(f, "hospital")
	o.Check = o.faults
	return c
}

func (o *linkOptions) faults() (faults []error) {
	if o.ttl < users.LeastTTL || o.ttl > users.MostTTL {
		faults = append(faults, errors.New("--ttl: must be from 1m to 24h"))
	}
	if access.HasControls(o.label) || utf8.RuneCountInString(o.label) > mostLabel {
		faults = append(faults, fmt.Errorf("--label: must have at most %d characters, on one line", mostLabel))
	}
	return faults
}

func (o *linkOptions) make(ctx context.Context, s *settings.Store, ring *keys.Ring) error {
	if _, known := s.Register.Hospital(o.hospital); !known {
		return noHospital(o.hospital)
	}
	office := &users.Office{Register: s.Users, Seen: s.Seen, Put: s.PutUsers, Audit: ring.Audit, Now: o.Now}
	link, token, err := office.MakeLink(ctx, audit.CommandLine, o.hospital, cmp.Or(o.label, o.role), users.Role(o.role), o.ttl)
	if err != nil {
		return err
	}
	base := o.Config.PublicURL
	if base == "" && o.IsDev {
		running, fault := cli.ReadDevFile(o.Data)
		if fault != nil {
			return fault
		}
		base = running.BaseURL
	}
	row := linkRow{
		URL: base + signin.LinkPath + token, Hospital: link.Hospital, User: link.User, Label: link.Label,
		Role: string(link.Role), ExpiresAt: cli.Stamp(link.ExpiresAt),
	}
	if o.JSON {
		return cli.PrintJSON(o.Stdout, row)
	}
	fmt.Fprintf(o.Stderr, "single-use link to %s, as %s of %s, valid until %s; this is the only time it is shown\n", row.User,
		row.Role, row.Hospital, row.ExpiresAt)
	if base == "" {
		fmt.Fprintln(o.Stderr, "Prepend the address of the service, or set it with --public-url.")
	}
	return o.Printf("%s\n", row.URL)
}

// linkRow is a link as the command line prints it.
type linkRow struct {
	URL       string `json:"url"`
	Hospital  string `json:"hospitalId"`
	User      string `json:"user"`
	Label     string `json:"label"`
	Role      string `json:"role"`
	ExpiresAt string `json:"expiresAt"`
}
