package doctor

import (
	"context"
	"slices"

	"svc/internal/admin/settings"
	"svc/internal/seal"
	"svc/internal/stream"
	"svc/schemas"
)

// checkKeys checks that the secrets key and the pseudonym key in the options are the keys of the installation. For
// svc dev, it checks only the secrets key.
func (e *examination) checkKeys(ctx context.Context, cluster *stream.Cluster, topics []string) {
	topic := e.Config.Topic(schemas.Settings())
	if !slices.Contains(topics, topic) {
		return // a missing topic or permission has already been reported
	}
	limited, cancel := context.WithTimeout(ctx, e.Within)
	defer cancel()
	installed, err := settings.ReadInstalled(limited, cluster, topic)
	if err != nil {
		e.add(Warning, "keys", "repeat svc doctor when all brokers respond", "the installation keys were not read: %v", err)
		return
	}
	e.key("secrets key", "--secrets-key", "svc ingest, svc notify and svc read", installed, settings.SecretsKey, e.Config.Seals)
	if e.IsDev {
		return // the pseudonym key of svc dev is in its data folder, and svc dev itself checks that key
	}
	e.key("pseudonym key", "--pseudonym-key", "svc ingest", installed, settings.PseudonymKey, func() (*seal.Keyring, error) {
		if e.Config.PseudonymKey == "" {
			return nil, nil
		}
		return e.Config.PseudonymRing()
	})
}

// key compares the key that an option supplies with the key that the installation has recorded under the given id.
// name is the name of the key in the findings; roles lists the roles that need the key.
func (e *examination) key(
	name, option, roles string, installed map[string]seal.Fingerprint, id string, ringOf func() (*seal.Keyring, error),
) {
	ring, err := ringOf()
	known, is := installed[id]
	switch {
	case err != nil:
		e.add(Fault, "keys", "correct "+option, "%v", err)
	case is && known == seal.Fingerprint{}:
		e.add(Fault, "keys", "use svc doctor from the release that wrote it",
			"a different release wrote the %s, in a format that this release does not read", name)
	case ring == nil && is:
		e.add(Warning, "keys", "set "+option+" to the key of "+roles, "the installation has a %s (%s), which was not compared", name, known)
	case ring == nil:
		e.ok("keys", "the installation has no %s yet; %s is required for %s", name, option, roles)
	case !is:
		e.ok("keys", "the installation has no %s yet; the first role that starts with this one (%s) records it", name, ring.Fingerprint())
	case !ring.Use(known):
		e.add(Fault, "keys", "set "+option+" to the key of the installation (docs/keys.md)",
			"the %s (%s) is not the key of the installation (%s)", name, ring.Fingerprint(), known)
	case ring.Fingerprint() != known:
		e.ok("keys", "the %s of the installation (%s) is listed in %s-old, so a rotation is in progress", name, known, option)
	default:
		e.ok("keys", "the %s (%s) is the key of the installation", name, known)
	}
}
