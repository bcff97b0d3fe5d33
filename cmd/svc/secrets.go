package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"svc/internal/admin/audit"
	"svc/internal/admin/keys"
	"svc/internal/cli"
	"svc/internal/httpapi/access"
	"svc/internal/seal"
	"svc/schemas"
)

// secretsCommand is svc secrets, for who changes SVC_SECRETS_KEY or SVC_PSEUDONYM_KEY:
// what is sealed by which key, and to seal it anew. The steps are in
// docs/administration.md.
func secretsCommand(w env) *cobra.Command {
	verb := func(use, short string, do func(*settings, context.Context, *admin, *keys.Ring) error) *cobra.Command {
		a := newAdmin(w, needSecrets)
		a.check = func() []error {
			if a.config.SecretsKey == "" && !a.flags.Changed("secrets-key") {
				return []error{errors.New("--secrets-key: must be given")}
			}
			return nil
		}
		return a.command(use, short, func(ctx context.Context, _ []string) error {
			return a.connected(ctx, func(ctx context.Context, s *settings, ring *keys.Ring) error { return do(s, ctx, a, ring) })
		})
	}
	lost := false
	reseal := verb("reseal", "make the newest key that of the installation, and seal with it what an older one sealed",
		func(s *settings, ctx context.Context, a *admin, ring *keys.Ring) error {
			return s.reseal(ctx, a, ring, lost)
		})
	reseal.Flags().BoolVar(&lost, "lost", false, "the key that the installation has is lost; what it sealed has to be set anew")
	return group("secrets", "change the keys that seal secrets and addresses, and what makes pseudonyms",
		verb("status", "tell what is sealed with which key; exit code 1 unless all is with the newest", (*settings).tellSealed),
		reseal, rewrapCommand(w))
}

// install makes the newest key of a ring that of the installation: from then on all
// processes that have it seal with it. One that has not is not ready any more.
func (s *settings) install(ctx context.Context, id string, ring *seal.Keyring, lost bool, sealed []byte, now time.Time) error {
	for {
		seen := s.Seen()
		known, is := s.installedKey(id)
		made := &schemas.InstalledKey{ID: id, Sealed: sealed, Version: 1, ChangedAt: now}
		switch {
		case is && fingerprintOf(known) == ring.Fingerprint():
			return nil
		case is && !lost && !ring.Use(fingerprintOf(known)):
			return differs("the installation has another %s (%s): give it as --%s-key-old", installedNames[id], fingerprintOf(known), id)
		case is:
			made.Version = known.Version + 1
		}
		err := s.putInstalledKey(ctx, seen, made, ring)
		if !errors.Is(err, access.ErrOvertaken) {
			return err
		}
		if err = pause(ctx, overtakenPause); err != nil {
			return err
		}
	}
}

// rewrapCommand is svc secrets rewrap: it changes the pseudonym key. What pseudonyms
// are made with stays, so they stay, too: it is sealed with the new key in place of
// the old one.
func rewrapCommand(w env) *cobra.Command {
	a := newAdmin(w, needPseudonyms)
	return a.command("rewrap", "make a new pseudonym key that of the installation; pseudonyms stay as they are", func(ctx context.Context, _ []string) error {
		ring, err := a.config.pseudonymRing()
		if err != nil {
			return err
		}
		return a.connected(ctx, func(ctx context.Context, s *settings, _ *keys.Ring) error {
			data, err := s.openPseudonyms(ring)
			if err != nil {
				return fmt.Errorf("%w; the one in use belongs into --pseudonym-key-old", err)
			}
			ring.Use(ring.Fingerprint())
			sealed := ring.Seal(installedName(installedPseudonyms), data)
			if err = s.install(ctx, installedPseudonyms, ring, false, sealed, a.Now()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "the pseudonym key of the installation is %s; pseudonyms are as they were\n", ring.Fingerprint())
			return err
		})
	})
}

// sealedBy says with which key a setting is sealed.
type sealedBy string

// The keys, from good to bad.
const (
	sealedNewest  sealedBy = "newest"
	sealedOlder   sealedBy = "older"   // one of SVC_SECRETS_KEY_OLD, which must stay
	sealedUnknown sealedBy = "unknown" // none that is configured: it cannot be read
)

// sealedRow is a setting that holds something sealed.
type sealedRow struct {
	Hospital string   `json:"hospitalId"`
	ID       string   `json:"id"`
	Key      sealedBy `json:"key"`

	kind string
}

// sealed lists the webhooks and recipients.
func (s *settings) sealed() (rows []sealedRow, err error) {
	s.table.Range("", func(name string, value []byte) bool {
		if strings.HasPrefix(name, schemas.InstalledKeys) {
			return true
		}
		var key schemas.Key
		if key, err = schemas.ParseKey([]byte(name)); err != nil {
			return false
		}
		var values [][]byte
		switch key.Kind {
		case kindWebhook:
			var w *schemas.Webhook
			if w, err = schemas.DecodeWebhook(value); err == nil {
				for i := range w.Secrets {
					values = append(values, w.Secrets[i].Sealed)
				}
			}
		case kindRecipient:
			var p *schemas.AlertRecipient
			if p, err = schemas.DecodeAlertRecipient(value); err == nil {
				values = [][]byte{p.Email, p.Phone}
			}
		default:
			return true
		}
		if err != nil {
			err = fmt.Errorf("decode %s: %w", name, err)
			return false
		}
		rows = append(rows, sealedRow{key.Hospital, key.ID, worst(s.seals, values), key.Kind})
		return true
	})
	return rows, err
}

// worst is the key of the value that is furthest from the newest.
func worst(seals *seal.Keyring, values [][]byte) sealedBy {
	by := sealedNewest
	for _, value := range values {
		switch {
		case len(value) == 0:
		case !seals.Has(value):
			return sealedUnknown
		case seals.Old(value):
			by = sealedOlder
		}
	}
	return by
}

var errSealedOtherwise = errors.New("not all is sealed with the newest key")

// tellSealed shows what is sealed by which key; it is an error unless all is by the
// newest.
func (s *settings) tellSealed(_ context.Context, a *admin, _ *keys.Ring) error {
	rows, err := s.sealed()
	if err != nil {
		return err
	}
	count := map[sealedBy]int{}
	for i := range rows {
		count[rows[i].Key]++
	}
	if a.json {
		err = cli.PrintItems(a.Stdout, append([]sealedRow{}, rows...))
	} else {
		table := tabwriter.NewWriter(a.Stdout, 0, 4, 2, ' ', 0)
		if known, is := s.installedKey(installedSecrets); is && fingerprintOf(known) != s.seals.Fingerprint() {
			fmt.Fprintf(table, "The installation seals with another key (%s) than the newest here (%s).\n", fingerprintOf(known), s.seals.Fingerprint())
		}
		fmt.Fprintf(table, "SEALED WITH\tWEBHOOKS AND RECIPIENTS\n")
		for _, key := range []sealedBy{sealedNewest, sealedOlder, sealedUnknown} {
			fmt.Fprintf(table, "the %s key\t%d\n", key, count[key])
		}
		for i := range rows {
			if r := &rows[i]; r.Key != sealedNewest {
				fmt.Fprintf(table, "%s\t%s/%s\n", r.Key, r.Hospital, r.ID)
			}
		}
		err = table.Flush()
	}
	if err == nil && count[sealedNewest] < len(rows) {
		err = errSealedOtherwise
	}
	return err
}

// overtakenPause is between two tries to write what somebody else changes as well.
const overtakenPause = 50 * time.Millisecond

// putAgain writes a setting as it is, which seals it with the newest key. One that
// somebody removes meanwhile stays removed.
func (s *settings) putAgain(ctx context.Context, r *sealedRow) error {
	for {
		var err error
		seen := s.Seen()
		if r.kind == kindWebhook {
			if w, ok := s.subscribers.Webhook(r.Hospital, r.ID); ok {
				err = s.PutWebhook(ctx, seen, w)
			}
		} else if p, ok := s.subscribers.Recipient(r.Hospital, r.ID); ok {
			err = s.PutRecipient(ctx, seen, p)
		}
		if !errors.Is(err, access.ErrOvertaken) {
			return err
		}
		if err = pause(ctx, overtakenPause); err != nil {
			return err
		}
	}
}

// reseal seals with the newest key what an older one sealed. The settings stay as
// they are, to the version.
func (s *settings) reseal(ctx context.Context, a *admin, ring *keys.Ring, lost bool) error {
	if err := s.install(ctx, installedSecrets, s.seals, lost, nil, a.Now()); err != nil {
		return err
	}
	s.seals.Use(s.seals.Fingerprint())
	rows, err := s.sealed()
	if err != nil {
		return err
	}
	done, closed := 0, 0
	for i := range rows {
		r := &rows[i]
		switch r.Key {
		case sealedNewest:
			continue
		case sealedUnknown:
			closed++
			continue
		case sealedOlder:
		}
		act := audit.Act{Hospital: r.Hospital, At: a.Now(), By: audit.CommandLine, Action: r.kind + ".reseal", Subject: r.ID}
		if err = ring.Audit(ctx, act); err != nil {
			return err
		}
		if err = s.putAgain(ctx, r); err != nil {
			return errors.Join(err, notDone(ctx, ring.Audit, err, act))
		}
		done++
	}
	if a.json {
		err = a.printJSON(map[string]int{"resealed": done, "unknown": closed})
	} else {
		_, err = fmt.Fprintf(a.Stdout, "sealed anew: %d of %d webhooks and recipients\n", done, len(rows))
	}
	if err == nil && closed > 0 {
		err = fmt.Errorf("%d are sealed with a key that is not configured", closed)
	}
	return err
}
