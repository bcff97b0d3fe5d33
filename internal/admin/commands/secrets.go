package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"svc/internal/admin/keys"
	"svc/internal/admin/settings"
	"svc/internal/cli"
	"svc/internal/config"
	"svc/internal/kafkacli"
)

// SecretsCommand returns the command svc secrets, for operators who change SVC_SECRETS_KEY or SVC_PSEUDONYM_KEY. It
// prints which key seals each setting, and reseals settings. The steps are in docs/keys.md.
func SecretsCommand(w cli.Env) *cobra.Command {
	verb := func(use, short string, do func(context.Context, *settings.Store, *kafkacli.Command, *keys.Ring) error) *cobra.Command {
		a := kafkacli.New(w, config.NeedSecrets)
		a.Check = func() []error {
			if a.Config.SecretsKey == "" && !a.Flags.Changed("secrets-key") {
				return []error{errors.New("--secrets-key: required")}
			}
			return nil
		}
		return a.Cobra(use, short, func(ctx context.Context, _ []string) error {
			return a.Connected(ctx, func(ctx context.Context, s *settings.Store, ring *keys.Ring) error { return do(ctx, s, a, ring) })
		})
	}
	lost := false
	reseal := verb("reseal", "switch the installation to the newest key, and re-encrypt everything with it",
		func(ctx context.Context, s *settings.Store, a *kafkacli.Command, ring *keys.Ring) error {
			return reseal(ctx, s, a, ring, lost)
		})
	reseal.Flags().BoolVar(&lost, "lost", false, "accept that the key of the installation is lost; what it encrypted must be set again")
	return group("secrets", "rotate the secrets key and the pseudonym key",
		verb("status", "show what is encrypted with which key; exit code 1 unless everything uses the newest key", printSealed),
		reseal, rewrapCommand(w))
}

// rewrapCommand returns the command svc secrets rewrap, which seals the pseudonym data with a new pseudonym key. The
// data and the pseudonyms do not change.
func rewrapCommand(w cli.Env) *cobra.Command {
	a := kafkacli.New(w, config.NeedPseudonyms)
	return a.Cobra("rewrap", "switch the installation to a new pseudonym key; pseudonyms do not change",
		func(ctx context.Context, _ []string) error {
			ring, err := a.Config.PseudonymRing()
			if err != nil {
				return err
			}
			return a.Connected(ctx, func(ctx context.Context, s *settings.Store, _ *keys.Ring) error {
				if err = s.Rewrap(ctx, ring, a.Now()); err != nil {
					return err
				}
				return a.Printf("the pseudonym key of the installation is now %s; pseudonyms did not change\n", ring.Fingerprint())
			})
		})
}

var errSealedOtherwise = errors.New("not everything is encrypted with the newest key")

// printSealed prints which key seals each setting. It returns an error unless the newest key seals all settings.
func printSealed(_ context.Context, s *settings.Store, a *kafkacli.Command, _ *keys.Ring) error {
	rows, err := s.Sealed()
	if err != nil {
		return err
	}
	count := map[settings.SealedBy]int{}
	for i := range rows {
		count[rows[i].Key]++
	}
	if a.JSON {
		err = cli.PrintItems(a.Stdout, append([]settings.SealedRow{}, rows...))
	} else {
		if known, is := s.Installed(settings.SecretsKey); is && known != s.Seals.Fingerprint() {
			fmt.Fprintf(a.Stdout, "The installation uses a different key (%s) from the newest one given here (%s).\n", known, s.Seals.Fingerprint())
		}
		table := cli.NewTable(a.Stdout, "SEALED WITH", "WEBHOOKS AND RECIPIENTS")
		for _, key := range []settings.SealedBy{settings.SealedNewest, settings.SealedOlder, settings.SealedUnknown} {
			table.Row(fmt.Sprintf("the %s key", key), count[key])
		}
		for i := range rows {
			if r := &rows[i]; r.Key != settings.SealedNewest {
				table.Row(r.Key, r.Hospital+"/"+r.ID)
			}
		}
		err = table.Flush()
	}
	if err == nil && count[settings.SealedNewest] < len(rows) {
		err = errSealedOtherwise
	}
	return err
}

// reseal seals the settings with the newest key, and prints how many it sealed.
func reseal(ctx context.Context, s *settings.Store, a *kafkacli.Command, ring *keys.Ring, lost bool) error {
	n, err := s.Reseal(ctx, lost, ring.Audit, a.Now)
	if err != nil {
		return err
	}
	if a.JSON {
		err = cli.PrintJSON(a.Stdout, map[string]int{"resealed": n.Done, "unknown": n.Unknown})
	} else {
		_, err = fmt.Fprintf(a.Stdout, "re-encrypted: %d of %d webhooks and recipients\n", n.Done, n.All)
	}
	if err == nil && n.Unknown > 0 {
		err = fmt.Errorf("webhooks and recipients that are encrypted with a key that is not configured: %d", n.Unknown)
	}
	return err
}
