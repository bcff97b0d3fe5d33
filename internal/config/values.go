package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/internal/httpapi"
	"svc/internal/seal"
	"svc/notifier/egress"
	"svc/notifier/webhook"
)

// The functions below parse the values of options. An error says the rule, and never the value.

func text(field func(*Config) *string) func(*Config, string) error {
	return func(c *Config, value string) error {
		*field(c) = value
		return nil
	}
}

func oneOf(field func(*Config) *string, words ...string) func(*Config, string) error {
	return func(c *Config, value string) error {
		if !slices.Contains(words, value) {
			return fmt.Errorf("must be one of %s", strings.Trim(strings.Join(words, ", "), ", "))
		}
		*field(c) = value
		return nil
	}
}

func address(field func(*Config) *string) func(*Config, string) error {
	return func(c *Config, value string) error {
		if _, _, err := net.SplitHostPort(value); err != nil {
			return errors.New("must be host:port")
		}
		*field(c) = value
		return nil
	}
}

func brokers(c *Config, value string) error {
	c.Kafka = nil
	for server := range strings.SplitSeq(value, ",") {
		server = strings.TrimSpace(server)
		if _, _, err := net.SplitHostPort(server); err != nil {
			return errors.New("must be host:port, separated by commas")
		}
		c.Kafka = append(c.Kafka, server)
	}
	return nil
}

// origins parses origins as browsers send them: scheme, host and port only. There is no wildcard,
// because then any page could use a key that it got hold of.
func origins(c *Config, value string) error {
	c.CORSOrigins = nil
	if value == "" {
		return nil
	}
	for origin := range strings.SplitSeq(value, ",") {
		origin = strings.TrimSpace(origin)
		parsed, err := url.Parse(origin)
		if err != nil || parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Host == "" || origin != parsed.Scheme+"://"+parsed.Host || origin != strings.ToLower(origin) {
			return errors.New("must be origins such as https://board.example, without a path, separated by commas")
		}
		c.CORSOrigins = append(c.CORSOrigins, origin)
	}
	return nil
}

// docsURL accepts an absolute address only, because error answers carry it.
func docsURL(c *Config, value string) error {
	if u, err := url.Parse(value); value != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
		return errors.New("must be as in https://docs.example/svc")
	}
	c.DocsURL = value
	return nil
}

// Docs returns the address of the documentation. "": that of a request.
func (c *Config) Docs() string {
	if c.DocsURL == "" && c.PublicURL != "" {
		return c.PublicURL + httpapi.DocsPath
	}
	return c.DocsURL
}

func proxies(c *Config, value string) error {
	c.Proxies = nil
	for text := range strings.SplitSeq(value, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		network, err := netip.ParsePrefix(text)
		if address, fault := netip.ParseAddr(text); err != nil && fault == nil {
			network, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return errors.New("must be networks such as 10.0.0.0/8, separated by commas")
		}
		c.Proxies = append(c.Proxies, network)
	}
	return nil
}

func boolean(field func(*Config) *bool) func(*Config, string) error {
	return func(c *Config, value string) error {
		parsed, err := strconv.ParseBool(value)
		if err != nil {
			return errors.New("must be true or false")
		}
		*field(c) = parsed
		return nil
	}
}

func count(field func(*Config) *int, least, most int) func(*Config, string) error {
	return func(c *Config, value string) error {
		parsed, err := strconv.Atoi(value)
		if err != nil || parsed < least || parsed > most {
			return fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		*field(c) = parsed
		return nil
	}
}

func duration(field func(*Config) *time.Duration, least, most time.Duration) func(*Config, string) error {
	return func(c *Config, value string) error {
		parsed, err := time.ParseDuration(value)
		if value == "0" {
			parsed, err = 0, nil
		}
		if err != nil || parsed < least || parsed > most {
			return fmt.Errorf("must be a duration from %v to %v, such as 10ms", least, most)
		}
		*field(c) = parsed
		return nil
	}
}

func file(field func(*Config) *string) func(*Config, string) error {
	return func(c *Config, value string) error {
		if value != "" {
			if _, err := os.Stat(value); err != nil {
				return errors.New("no such file")
			}
		}
		*field(c) = value
		return nil
	}
}

func redisURL(c *Config, value string) error {
	parsed, err := url.Parse(value)
	if err != nil || parsed.Scheme != "redis" && parsed.Scheme != "rediss" || parsed.Host == "" {
		return errors.New("must be redis://… or rediss://…") // the value is not shown: it may hold a password
	}
	c.Redis = value
	return nil
}

func pseudonymKey(c *Config, value string) error {
	if value == "" {
		return fmt.Errorf("must be given, with at least %d characters", seal.LeastKey)
	}
	c.PseudonymKey = value
	return seal.Check(value)
}

func secretsKey(c *Config, value string) error {
	c.SecretsKey = value
	if value == "" {
		return nil
	}
	return seal.Check(value)
}

// olderKeys parses older keys, one a line. An older key may contain blanks.
func olderKeys(field func(*Config) *[]string) func(*Config, string) error {
	return func(c *Config, value string) error {
		keys := field(c)
		*keys = nil
		for line := range strings.Lines(value) {
			key := strings.TrimRight(line, "\r\n")
			if key == "" {
				continue
			}
			if len(key) < seal.LeastKey {
				return fmt.Errorf("each must have at least %d characters", seal.LeastKey)
			}
			*keys = append(*keys, key)
		}
		return nil
	}
}

func egressAllow(c *Config, value string) (err error) {
	c.EgressAllow, err = egress.ParseAllow(value)
	return err
}

func egressRoots(c *Config, value string) (err error) {
	c.EgressRoots, err = webhook.Roots(value)
	return err
}

// registryURL parses the address. It must not contain a login, because other users can read the
// command line.
func registryURL(c *Config, value string) error {
	u, err := url.Parse(value)
	if value != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil) {
		return errors.New("not a URL such as https://registry.example:8081")
	}
	c.Registry.URL = value
	return nil
}

// ingestURL parses the address of svc ingest.
func ingestURL(c *Config, value string) error {
	if value == "" {
		c.IngestURL = nil
		return nil
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return errors.New("must be an address such as http://svc-ingest:8080, without a path")
	}
	c.IngestURL = u
	return nil
}
