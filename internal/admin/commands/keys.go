package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/internal/admin/audit"
	"svc/internal/admin/keys"
	"svc/internal/admin/settings"
	"svc/internal/cli"
	"svc/internal/config"
	"svc/internal/httpapi/access"
	"svc/internal/kafkacli"
	"svc/internal/view"
)

// KeysCommand returns the command svc keys, which administers API keys.
func KeysCommand(w cli.Env) *cobra.Command {
	return group("keys", "administer API keys", mintKeyCommand(w), listKeysCommand(w), revokeKeyCommand(w), rotateKeyCommand(w))
}

// keyOptions are the flags of a new key.
type keyOptions struct {
	*kafkacli.Command
	hospital, name, scopes, expires string
	rate                            float64
	burst                           int

	key      access.Key // scopes and limits from the flags
	lifetime time.Duration
}

func mintKeyCommand(w cli.Env) *cobra.Command {
	o := &keyOptions{Command: kafkacli.New(w, 0)}
	c := o.Cobra("mint", "create a key, and print it: this is the only time it is shown", func(ctx context.Context, _ []string) error {
		return o.Connected(ctx, o.mint)
	})
	f := c.Flags()
	f.StringVar(&o.hospital, "hospital", "", "`id` of the hospital that the key belongs to")
	f.StringVar(&o.name, "name", "", "display `name` of the integration")
	o.addFlags()
	cli.Require(f, "hospital", "name", "scopes")
	o.Check = o.faults
	return c
}

// addFlags adds the flags shared by all commands that create keys.
func (o *keyOptions) addFlags() {
	o.Flags.StringVar(&o.scopes, "scopes", "", "`scopes`, separated by commas; all: every scope except admin")
	o.Flags.StringVar(&o.expires, "expires", "", "`lifetime`, such as 90d or 12h (default: never expires)")
	o.Flags.Float64Var(&o.rate, "rate", access.DefaultRate, "`requests` per second; 0: no limit")
	o.Flags.IntVar(&o.burst, "burst", 0, "burst limit, in `requests` (default: four times --rate)")
}

// faults parses the flags and returns their errors.
func (o *keyOptions) faults() (faults []error) {
	var err error
	if !access.NameFits(o.name) {
		faults = append(faults, fmt.Errorf("--name: must have at most %d characters, on one line, without control characters", access.MostName))
	}
	if o.scopes != "" {
		if o.key.Scopes, err = access.ParseScopes(o.scopes); err != nil {
			faults = append(faults, fmt.Errorf("--scopes: %w", err))
		}
	}
	if o.lifetime, err = cli.ParseLifetime(o.expires); err != nil {
		faults = append(faults, fmt.Errorf("--expires: %w", err))
	}
	limits, err := access.Limits(o.rate, o.burst)
	if err != nil {
		faults = append(faults, err)
	}
	o.key.Rate, o.key.Burst = limits.Rate, limits.Burst
	return faults
}

// template returns the key to create for a hospital, with the scopes, limits and lifetime from the flags.
func (o *keyOptions) template(hospital, name string) access.Key {
	key := o.key
	key.Hospital, key.Name = hospital, name
	if o.lifetime > 0 {
		key.ExpiresAt = o.Now().Add(o.lifetime).UTC().Truncate(time.Millisecond)
	}
	return key
}

func (o *keyOptions) mint(ctx context.Context, s *settings.Store, ring *keys.Ring) error {
	if _, known := s.Register.Hospital(o.hospital); !known {
		return noHospital(o.hospital)
	}
	key, token, err := ring.Mint(ctx, audit.CommandLine, o.template(o.hospital, o.name))
	if err != nil {
		return err
	}
	return printToken(o.Command, &key, token)
}

func noHospital(id string) error {
	return fmt.Errorf("no hospital %q; create it with svc hospitals create", id)
}

func listKeysCommand(w cli.Env) *cobra.Command {
	a := kafkacli.New(w, config.NeedRedis)
	hospital := ""
	c := a.Cobra("list", "list keys", func(ctx context.Context, _ []string) error { return listKeys(ctx, a, hospital) })
	c.Flags().StringVar(&hospital, "hospital", "", "only the keys of the hospital with this `id`")
	return c
}

func listKeys(ctx context.Context, a *kafkacli.Command, hospital string) error {
	return a.Connected(ctx, func(ctx context.Context, s *settings.Store, _ *keys.Ring) error {
		if _, known := s.Register.Hospital(hospital); !known && hospital != "" {
			return noHospital(hospital)
		}
		all := s.Register.Keys(hospital)
		rows, ids := make([]keyRow, len(all)), make([]string, len(all))
		for i := range all {
			rows[i], ids[i] = rowOf(&all[i], a.Now()), all[i].ID
		}
		used := used(ctx, a, ids)
		for i := range rows {
			rows[i].LastUsedAt = cli.Stamp(used[ids[i]])
		}
		if a.JSON {
			return cli.PrintItems(a.Stdout, rows)
		}
		table := cli.NewTable(a.Stdout, "ID", "PREFIX", "HOSPITAL", "NAME", "STATUS", "SCOPES", "RATE", "CREATED", "ENDS", "USED")
		for i := range rows {
			row := &rows[i]
			table.Row(row.ID, row.Prefix, row.Hospital, row.Name, row.Status,
				strings.Join(row.Scopes, ","), row.rate(), row.CreatedAt, row.ends(), row.LastUsedAt)
		}
		return table.Flush()
	})
}

// used returns when keys were last used, to the minute. It returns nothing if Redis is not configured, is
// unavailable, or has lost the data. This is not an error, because the list of keys is useful without the times.
func used(ctx context.Context, a *kafkacli.Command, ids []string) map[string]time.Time {
	if !a.IsDev && !a.Flags.Changed("redis") {
		return nil
	}
	view, err := view.Open(view.Config{URL: a.Config.Redis, CAFile: a.Config.RedisCA, Prefix: a.Config.TopicPrefix + "svc:", Now: a.Now})
	if err == nil {
		defer view.Close() //nolint:errcheck // the command ends
		var used map[string]time.Time
		if used, err = view.Used(ctx, ids); err == nil {
			return used
		}
	}
	fmt.Fprintln(a.Stderr, "The last use of keys is unknown:", err)
	return nil
}

func revokeKeyCommand(w cli.Env) *cobra.Command {
	a := kafkacli.New(w, 0)
	return a.Cobra("revoke KEY", "end a key now", func(ctx context.Context, args []string) error {
		return a.Connected(ctx, func(ctx context.Context, s *settings.Store, ring *keys.Ring) error {
			seen := ring.Seen()
			key, err := keyOf(s, args[0])
			if err != nil {
				return err
			}
			if key, err = ring.Revoke(ctx, audit.CommandLine, seen, key); err != nil {
				return err
			}
			if a.JSON {
				return cli.PrintJSON(a.Stdout, rowOf(&key, a.Now()))
			}
			return a.Printf("revoked %s\n", key.ID)
		})
	})
}

func rotateKeyCommand(w cli.Env) *cobra.Command {
	a := kafkacli.New(w, 0)
	overlap := ""
	c := a.Cobra("rotate KEY", "create a successor to a key, and print it; the old key expires after an overlap",
		func(ctx context.Context, args []string) error {
			return a.Connected(ctx, func(ctx context.Context, s *settings.Store, ring *keys.Ring) error {
				seen := ring.Seen()
				old, err := keyOf(s, args[0])
				if err != nil {
					return err
				}
				key, token, err := ring.Rotate(ctx, audit.CommandLine, seen, old, keys.Overlaps[overlap])
				if errors.Is(err, keys.ErrEnded) {
					return fmt.Errorf("key %s is no longer valid; create a new one", old.ID)
				} else if err != nil {
					return err
				}
				return printToken(a, &key, token)
			})
		})
	cli.OneOf(c, &overlap, "overlap", "24h", "how long the old key stays valid: 0, 1h, 24h or 7d", "0", "1h", "24h", "7d")
	return c
}

func keyOf(s *settings.Store, id string) (access.Key, error) {
	key, known := s.Register.Key(id)
	if !known {
		return key, fmt.Errorf("no key %q; svc keys list lists all keys", id)
	}
	return key, nil
}

// keyRow is a key as the command line prints it.
type keyRow struct {
	ID        string   `json:"id"`
	Hospital  string   `json:"hospitalId"`
	Prefix    string   `json:"prefix,omitempty"` // first 8 characters of the token
	Name      string   `json:"name"`
	Status    string   `json:"status"` // active, expired, revoked
	Scopes    []string `json:"scopes"`
	CreatedAt string   `json:"createdAt"`
	ExpiresAt string   `json:"expiresAt,omitempty"`
	RevokedAt string   `json:"revokedAt,omitempty"`
	Rate      float64  `json:"rate"` // requests per second; 0: no limit
	Burst     int      `json:"burst"`

	LastUsedAt string `json:"lastUsedAt,omitempty"` // to the minute; "": unknown
	Token      string `json:"key,omitempty"`        // only for a new key
}

// ends returns when the key ends or has ended, or "" if it never ends.
func (r *keyRow) ends() string {
	if r.RevokedAt != "" && (r.ExpiresAt == "" || r.RevokedAt < r.ExpiresAt) {
		return r.RevokedAt
	}
	return r.ExpiresAt
}

// rate returns the rate limit of the key as text.
func (r *keyRow) rate() string {
	if r.Rate == 0 {
		return "no limit"
	}
	return strconv.FormatFloat(r.Rate, 'g', -1, 64) + "/s"
}

func rowOf(key *access.Key, now time.Time) keyRow {
	row := keyRow{
		ID: key.ID, Hospital: key.Hospital, Prefix: key.Prefix, Name: key.Name, Status: keys.Status(key, now),
		CreatedAt: cli.Stamp(key.CreatedAt), ExpiresAt: cli.Stamp(key.ExpiresAt), RevokedAt: cli.Stamp(key.RevokedAt),
		Rate: key.Rate, Burst: key.Burst,
	}
	for _, scope := range key.Scopes {
		row.Scopes = append(row.Scopes, string(scope))
	}
	return row
}

// printToken prints only the token on standard output, so that a script can capture it, and everything else on
// standard error. With --json, it prints the key with its token as one JSON object.
func printToken(a *kafkacli.Command, key *access.Key, token string) error {
	if a.JSON {
		row := rowOf(key, a.Now())
		row.Token = token
		return cli.PrintJSON(a.Stdout, row)
	}
	fmt.Fprintf(a.Stderr, "%s for %s; this is the only time it is shown\n", key.ID, key.Hospital)
	return a.Printf("%s\n", token)
}
