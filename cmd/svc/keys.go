package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"svc/internal/access"
	"svc/internal/audit"
	"svc/internal/board"
	"svc/internal/keys"
)

// runKeys administers API keys: mint, list, revoke, rotate.
func runKeys(ctx context.Context, args []string, w world) error {
	return verbs{
		"mint":   {"mint --hospital H --name N --scopes a,b|all [--expires 90d] [--rate 50] [--burst 200]", mintKey},
		"list":   {"list [--hospital H]", listKeys},
		"revoke": {"revoke --id KEY", revokeKey},
		"rotate": {"rotate --id KEY [--overlap 0|1h|24h|7d]", rotateKey},
	}.run(ctx, "keys", args, w)
}

func mintKey(ctx context.Context, a *admin, args []string) error {
	hospital := a.flags.String("hospital", "", "hospital the key belongs to")
	name := a.flags.String("name", "", "what the integration is called")
	scopes := a.flags.String("scopes", "", "scopes, separated by commas; all: every one but admin")
	expires := a.flags.String("expires", "", "lifetime, such as 90d or 12h (default: for ever)")
	rate := a.flags.Float64("rate", access.DefaultRate, "requests per second; 0: no limit")
	burst := a.flags.Int("burst", 0, "requests at once (default: four seconds of the rate)")
	if err := a.parse(args); err != nil {
		return err
	}
	granted, scopeFault := access.ParseScopes(*scopes)
	lifetime, expiryFault := parseLifetime(*expires)
	limits, rateFault := access.Limits(*rate, *burst)
	if err := a.usage(required("--hospital", *hospital), required("--name", *name), scopeFault, expiryFault, rateFault); err != nil {
		return err
	}
	return a.connected(ctx, func(ctx context.Context, s *settings, ring *keys.Ring) error {
		if _, known := s.register.Hospital(*hospital); !known {
			return noHospital(*hospital)
		}
		now := a.Now()
		template := access.Key{Hospital: *hospital, Name: *name, Scopes: granted, Rate: limits.Rate, Burst: limits.Burst}
		if lifetime > 0 {
			template.ExpiresAt = now.Add(lifetime).UTC().Truncate(time.Millisecond)
		}
		key, token, err := ring.Mint(ctx, audit.CommandLine, template)
		if err != nil {
			return err
		}
		return a.printToken(&key, token)
	})
}

func noHospital(id string) error {
	return fmt.Errorf("no hospital %q; svc hospitals create makes one", id)
}

func listKeys(ctx context.Context, a *admin, args []string) error {
	hospital := a.flags.String("hospital", "", "only the keys of this hospital")
	if err := a.parse(args); err != nil {
		return err
	}
	if err := a.usage(); err != nil {
		return err
	}
	return a.connected(ctx, func(ctx context.Context, s *settings, _ *keys.Ring) error {
		if _, known := s.register.Hospital(*hospital); !known && *hospital != "" {
			return noHospital(*hospital)
		}
		all := s.register.Keys(*hospital)
		rows, ids := make([]keyRow, len(all)), make([]string, len(all))
		for i := range all {
			rows[i], ids[i] = rowOf(&all[i], a.Now()), all[i].ID
		}
		used := a.used(ctx, ids)
		for i := range rows {
			rows[i].LastUsedAt = stamp(used[ids[i]])
		}
		if a.json {
			return a.printJSON(rows)
		}
		table := tabwriter.NewWriter(a.Stdout, 0, 4, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tHOSPITAL\tNAME\tSTATUS\tSCOPES\tRATE\tCREATED\tENDS\tUSED")
		for i := range rows {
			row := &rows[i]
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.ID, row.Hospital, row.Name, row.Status,
				strings.Join(row.Scopes, ","), row.rate(), row.CreatedAt, row.ends(), row.LastUsedAt)
		}
		return table.Flush()
	})
}

// used returns when keys were used last, to the minute. The list is of use without
// it: Redis may be away, or have forgotten.
func (a *admin) used(ctx context.Context, ids []string) map[string]time.Time {
	url := a.config.Redis
	if url == "" {
		url, _ = a.Env("SVC_REDIS")
	}
	if url == "" {
		return nil
	}
	view, err := board.Open(board.Config{URL: url, CAFile: a.config.RedisCA, Prefix: a.config.TopicPrefix + "svc:", Now: a.Now})
	if err == nil {
		defer view.Close() //nolint:errcheck // the command ends
		var used map[string]time.Time
		if used, err = view.Used(ctx, ids); err == nil {
			return used
		}
	}
	fmt.Fprintln(a.Stderr, "When the keys were used is not known:", err)
	return nil
}

func revokeKey(ctx context.Context, a *admin, args []string) error {
	id := a.flags.String("id", "", "the key's id, as svc keys list shows it")
	if err := a.parse(args); err != nil {
		return err
	}
	if err := a.usage(required("--id", *id)); err != nil {
		return err
	}
	return a.connected(ctx, func(ctx context.Context, s *settings, ring *keys.Ring) error {
		seen := ring.Seen()
		key, err := keyOf(s, *id)
		if err != nil {
			return err
		}
		if key, err = ring.Revoke(ctx, audit.CommandLine, seen, key); err != nil {
			return err
		}
		if a.json {
			return a.printJSON(rowOf(&key, a.Now()))
		}
		_, err = fmt.Fprintf(a.Stdout, "revoked %s\n", key.ID)
		return err
	})
}

func rotateKey(ctx context.Context, a *admin, args []string) error {
	id := a.flags.String("id", "", "the key's id, as svc keys list shows it")
	overlap := a.flags.String("overlap", "24h", "how long the old key stays valid: 0, 1h, 24h or 7d")
	if err := a.parse(args); err != nil {
		return err
	}
	keep, known := keys.Overlaps[*overlap]
	var overlapFault error
	if !known {
		overlapFault = errors.New("--overlap: must be 0, 1h, 24h or 7d")
	}
	if err := a.usage(required("--id", *id), overlapFault); err != nil {
		return err
	}
	return a.connected(ctx, func(ctx context.Context, s *settings, ring *keys.Ring) error {
		seen := ring.Seen()
		old, err := keyOf(s, *id)
		if err != nil {
			return err
		}
		key, token, err := ring.Rotate(ctx, audit.CommandLine, seen, old, keep)
		if errors.Is(err, keys.ErrEnded) {
			return fmt.Errorf("key %s is not valid any more; mint a new one", old.ID)
		} else if err != nil {
			return err
		}
		return a.printToken(&key, token)
	})
}

func keyOf(s *settings, id string) (access.Key, error) {
	key, known := s.register.Key(id)
	if !known {
		return key, fmt.Errorf("no key %q; svc keys list shows them", id)
	}
	return key, nil
}

// keyRow is a key as the command line shows it.
type keyRow struct {
	ID        string   `json:"id"`
	Hospital  string   `json:"hospitalId"`
	Name      string   `json:"name"`
	Status    string   `json:"status"` // active, expired, revoked
	Scopes    []string `json:"scopes"`
	CreatedAt string   `json:"createdAt"`
	ExpiresAt string   `json:"expiresAt,omitempty"`
	RevokedAt string   `json:"revokedAt,omitempty"`
	Rate      float64  `json:"rate"` // requests per second; 0: no limit
	Burst     int      `json:"burst"`

	LastUsedAt string `json:"lastUsedAt,omitempty"` // to the minute; "": not known
	Token      string `json:"key,omitempty"`        // only when it was just made
}

// ends is when the key stops to be valid, or stopped; "" if it never will.
func (r *keyRow) ends() string {
	if r.RevokedAt != "" && (r.ExpiresAt == "" || r.RevokedAt < r.ExpiresAt) {
		return r.RevokedAt
	}
	return r.ExpiresAt
}

// rate is how often the key may be used.
func (r *keyRow) rate() string {
	if r.Rate == 0 {
		return "no limit"
	}
	return strconv.FormatFloat(r.Rate, 'g', -1, 64) + "/s"
}

func rowOf(key *access.Key, now time.Time) keyRow {
	row := keyRow{
		ID: key.ID, Hospital: key.Hospital, Name: key.Name, Status: keys.Status(key, now),
		CreatedAt: stamp(key.CreatedAt), ExpiresAt: stamp(key.ExpiresAt), RevokedAt: stamp(key.RevokedAt),
		Rate: key.Rate, Burst: key.Burst,
	}
	for _, scope := range key.Scopes {
		row.Scopes = append(row.Scopes, string(scope))
	}
	return row
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// printToken prints the token alone on standard output, so that it can be
// captured; what else there is to say goes to standard error.
func (a *admin) printToken(key *access.Key, token string) error {
	if a.json {
		row := rowOf(key, a.Now())
		row.Token = token
		return a.printJSON(row)
	}
	fmt.Fprintf(a.Stderr, "%s for %s; this is the only time it is shown\n", key.ID, key.Hospital)
	_, err := fmt.Fprintln(a.Stdout, token)
	return err
}

// parseLifetime reads a duration that may be in days; empty is none.
func parseLifetime(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 3650 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, errors.New("--expires: must be a time such as 90d or 12h")
}

// runHospitals administers hospitals: create, list.
func runHospitals(ctx context.Context, args []string, w world) error {
	return verbs{
		"create": {"create --id H --name N --timezone Z", createHospital},
		"list":   {"list", listHospitals},
	}.run(ctx, "hospitals", args, w)
}

func createHospital(ctx context.Context, a *admin, args []string) error {
	var h access.Hospital
	a.flags.StringVar(&h.ID, "id", "", "id: lower-case letters, digits and hyphens")
	a.flags.StringVar(&h.Name, "name", "", "name, for people")
	a.flags.StringVar(&h.Zone, "timezone", "", "IANA time zone, such as America/Chicago")
	if err := a.parse(args); err != nil {
		return err
	}
	if err := a.usage(required("--name", h.Name), h.Check()); err != nil {
		return err
	}
	return a.connected(ctx, func(ctx context.Context, s *settings, ring *keys.Ring) error {
		seen := s.Seen()
		if _, exists := s.register.Hospital(h.ID); exists {
			return fmt.Errorf("hospital %q exists already", h.ID)
		}
		h.CreatedAt = a.Now().UTC().Truncate(time.Millisecond)
		if err := ring.Audit(ctx, audit.Act{Hospital: h.ID, At: h.CreatedAt, By: audit.CommandLine, Action: "hospital.create", Subject: h.ID}); err != nil {
			return err
		}
		if err := s.putHospital(ctx, seen, &h); err != nil {
			return err
		}
		if a.json {
			return a.printJSON(hospitalRow{h.ID, h.Name, h.Zone, stamp(h.CreatedAt)})
		}
		_, err := fmt.Fprintf(a.Stdout, "created %s\n", h.ID)
		return err
	})
}

type hospitalRow struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Zone      string `json:"timezone"`
	CreatedAt string `json:"createdAt"`
}

func listHospitals(ctx context.Context, a *admin, args []string) error {
	if err := a.parse(args); err != nil {
		return err
	}
	if err := a.usage(); err != nil {
		return err
	}
	return a.connected(ctx, func(_ context.Context, s *settings, _ *keys.Ring) error {
		rows := []hospitalRow{}
		for _, h := range s.register.Hospitals() {
			rows = append(rows, hospitalRow{h.ID, h.Name, h.Zone, stamp(h.CreatedAt)})
		}
		if a.json {
			return a.printJSON(rows)
		}
		table := tabwriter.NewWriter(a.Stdout, 0, 4, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tNAME\tTIMEZONE\tCREATED")
		for _, row := range rows {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", row.ID, row.Name, row.Zone, row.CreatedAt)
		}
		return table.Flush()
	})
}

func (a *admin) printJSON(v any) error { return printJSON(a.Stdout, v) }

func printJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false) // for terminals and programs: "L&D", addresses to copy
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

func required(name, value string) error {
	if value == "" {
		return fmt.Errorf("%s: must be given", name)
	}
	return nil
}

// usage joins the faults of a command line.
func (a *admin) usage(faults ...error) error {
	if err := errors.Join(append(faults, a.nowhere)...); err != nil {
		return usageError(err)
	}
	return nil
}

// verbs are the commands below one word of the command line.
type verbs map[string]struct {
	usage string
	run   func(ctx context.Context, a *admin, args []string) error
}

func (v verbs) run(ctx context.Context, word string, args []string, w world) error {
	if len(args) > 0 {
		if verb, ok := v[args[0]]; ok {
			return verb.run(ctx, newAdmin(word+" "+args[0], w), args[1:])
		}
	}
	var lines []string
	for _, name := range []string{"create", "mint", "list", "revoke", "rotate", "status", "reseal"} {
		if verb, ok := v[name]; ok {
			lines = append(lines, "usage: svc "+word+" "+verb.usage)
		}
	}
	if len(args) > 0 && slices.Contains([]string{"-h", "--help"}, args[0]) {
		_, err := io.WriteString(w.Stdout, strings.Join(lines, "\n")+"\n")
		return err
	}
	return usageError(errors.New(strings.Join(lines, "\n")))
}
