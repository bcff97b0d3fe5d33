package main

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

func text(field func(*config) *string) func(*config, string) error {
	return func(c *config, value string) error {
		*field(c) = value
		return nil
	}
}

func oneOf(field func(*config) *string, words ...string) func(*config, string) error {
	return func(c *config, value string) error {
		if !slices.Contains(words, value) {
			return fmt.Errorf("must be one of %s", strings.Trim(strings.Join(words, ", "), ", "))
		}
		*field(c) = value
		return nil
	}
}

func address(field func(*config) *string) func(*config, string) error {
	return func(c *config, value string) error {
		if _, _, err := net.SplitHostPort(value); err != nil {
			return errors.New("must be host:port")
		}
		*field(c) = value
		return nil
	}
}

func brokers(c *config, value string) error {
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
func origins(c *config, value string) error {
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
func docsURL(c *config, value string) error {
	if u, err := url.Parse(value); value != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
		return errors.New("must be as in https://docs.example/svc")
	}
	c.DocsURL = value
	return nil
}

// docs returns the address of the documentation. "": that of a request.
func (c *config) docs() string {
	if c.DocsURL == "" && c.PublicURL != "" {
		return c.PublicURL + httpapi.DocsPath
	}
	return c.DocsURL
}

func proxies(c *config, value string) error {
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

func boolean(field func(*config) *bool) func(*config, string) error {
	return func(c *config, value string) error {
		parsed, err := strconv.ParseBool(value)
		if err != nil {
			return errors.New("must be true or false")
		}
		*field(c) = parsed
		return nil
	}
}

func count(field func(*config) *int, least, most int) func(*config, string) error {
	return func(c *config, value string) error {
		parsed, err := strconv.Atoi(value)
		if err != nil || parsed < least || parsed > most {
			return fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		*field(c) = parsed
		return nil
	}
}

func duration(field func(*config) *time.Duration, least, most time.Duration) func(*config, string) error {
	return func(c *config, value string) error {
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

func file(field func(*config) *string) func(*config, string) error {
	return func(c *config, value string) error {
		if value != "" {
			if _, err := os.Stat(value); err != nil {
				return errors.New("no such file")
			}
		}
		*field(c) = value
		return nil
	}
}

func redisURL(c *config, value string) error {
	parsed, err := url.Parse(value)
	if err != nil || parsed.Scheme != "redis" && parsed.Scheme != "rediss" || parsed.Host == "" {
		return errors.New("must be redis://… or rediss://…") // the value is not shown: it may hold a password
	}
	c.Redis = value
	return nil
}

func pseudonymKey(c *config, value string) error {
	if value == "" {
		return fmt.Errorf("must be given, with at least %d characters", seal.LeastKey)
	}
	c.PseudonymKey = value
	return seal.Check(value)
}

func secretsKey(c *config, value string) error {
	c.SecretsKey = value
	if value == "" {
		return nil
	}
	return seal.Check(value)
}

// olderKeys parses older keys, one a line. An older key may contain blanks.
func olderKeys(field func(*config) *[]string) func(*config, string) error {
	return func(c *config, value string) error {
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

func egressAllow(c *config, value string) (err error) {
	c.EgressAllow, err = egress.ParseAllow(value)
	return err
}

func egressRoots(c *config, value string) (err error) {
	c.EgressRoots, err = webhook.Roots(value)
	return err
}
