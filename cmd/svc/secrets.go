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

// secretsCommand is svc secrets, for operators who change SVC_SECRETS_KEY or SVC_PSEUDONYM_KEY.
// It tells which key seals each setting, and seals settings again. The steps are in
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
		verb("status", "tell what is sealed with which key; exit code 1 unless all is with the newest", (*settings).printSealed),
		reseal, rewrapCommand(w))
}

// install makes the newest key of a ring the installation's. From then on all processes with this
// key seal with it. Processes without it become unready.
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

// rewrapCommand is svc secrets rewrap. It seals the data of pseudonyms with a new pseudonym key.
// The data stays the same, and so do the pseudonyms.
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

// sealedBy tells which key seals a setting.
type sealedBy string

// Keys that seal a setting, best first.
const (
	sealedNewest  sealedBy = "newest"
	sealedOlder   sealedBy = "older"   // one of SVC_SECRETS_KEY_OLD; that key must stay
	sealedUnknown sealedBy = "unknown" // the key is not configured: the value cannot be read
)

// sealedRow is a setting with sealed values.
type sealedRow struct {
	Hospital string   `json:"hospitalId"`
	ID       string   `json:"id"`
	Key      sealedBy `json:"key"`

	kind string
}

// sealed returns the webhooks and recipients with sealed values.
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

// worst returns the worst key among those of some values.
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

// printSealed prints which key seals each setting. It returns an error unless the newest key
// seals all.
func (s *settings) printSealed(_ context.Context, a *admin, _ *keys.Ring) error {
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

// overtakenPause is the pause before a write is tried again that another process has overtaken.
const overtakenPause = 50 * time.Millisecond

// putAgain writes a setting unchanged, which seals it with the newest key. A setting that was
// removed meanwhile stays removed.
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

// reseal makes the newest secrets key the installation's, and seals with it the settings that
// older keys have sealed. The settings do not change, nor do their versions.
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
