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

	"svc/internal/authorities"
	"svc/internal/httpapi"
	"svc/internal/seal"
	"svc/notifier/egress"
)

// The functions below parse the values of options. An error states the rule, never the value.

func text(into *string) func(string) error {
	return func(value string) error {
		*into = value
		return nil
	}
}

func oneOf(into *string, words ...string) func(string) error {
	return func(value string) error {
		if !slices.Contains(words, value) {
			return fmt.Errorf("must be one of %s", strings.Trim(strings.Join(words, ", "), ", "))
		}
		*into = value
		return nil
	}
}

func address(into *string) func(string) error {
	return func(value string) error {
		if _, _, err := net.SplitHostPort(value); err != nil {
			return errors.New("must be host:port")
		}
		*into = value
		return nil
	}
}

func (c *Config) setBrokers(value string) error {
	c.Kafka = nil
	for server := range strings.SplitSeq(value, ",") {
		server = strings.TrimSpace(server)
		if _, _, err := net.SplitHostPort(server); err != nil {
			return errors.New("must be one or more host:port addresses, separated by commas")
		}
		c.Kafka = append(c.Kafka, server)
	}
	return nil
}

// setOrigins parses origins in the form that browsers send: scheme, host and port, without a path. A wildcard is not
// allowed, because any page that has obtained a key could then use it.
func (c *Config) setOrigins(value string) error {
	c.CORSOrigins = nil
	if value == "" {
		return nil
	}
	for origin := range strings.SplitSeq(value, ",") {
		origin = strings.TrimSpace(origin)
		u, ok := webURL(origin)
		if !ok || origin != strings.ToLower(u.Scheme+"://"+u.Host) {
			return errors.New("must be origins such as https://board.example, without a path, separated by commas")
		}
		c.CORSOrigins = append(c.CORSOrigins, origin)
	}
	return nil
}

// setDocs accepts only an absolute URL, because error responses contain it.
func (c *Config) setDocs(value string) error {
	if _, ok := webURL(value); value != "" && !ok {
		return errors.New("must be a URL such as https://docs.example/svc")
	}
	c.DocsURL = value
	return nil
}

// webURL parses an absolute http or https URL, and reports whether the value is such a URL.
func webURL(value string) (*url.URL, bool) {
	u, err := url.Parse(value)
	if err != nil {
		return &url.URL{}, false
	}
	return u, u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// Docs returns the URL of the documentation. If it returns "", the server derives the URL from each request.
func (c *Config) Docs() string {
	if c.DocsURL == "" && c.PublicURL != "" {
		return c.PublicURL + httpapi.DocsPath
	}
	return c.DocsURL
}

func (c *Config) setProxies(value string) error {
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

func boolean(into *bool) func(string) error {
	return func(value string) error {
		parsed, err := strconv.ParseBool(value)
		if err != nil {
			return errors.New("must be true or false")
		}
		*into = parsed
		return nil
	}
}

func count(into *int, least, most int) func(string) error {
	return func(value string) error {
		parsed, err := strconv.Atoi(value)
		if err != nil || parsed < least || parsed > most {
			return fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		*into = parsed
		return nil
	}
}

func duration(into *time.Duration, least, most time.Duration) func(string) error {
	return func(value string) error {
		parsed, err := time.ParseDuration(value)
		if value == "0" {
			parsed, err = 0, nil
		}
		if err != nil || parsed < least || parsed > most {
			return fmt.Errorf("must be a duration from %v to %v, such as 10ms", least, most)
		}
		*into = parsed
		return nil
	}
}

func file(into *string) func(string) error {
	return func(value string) error {
		if value != "" {
			if _, err := os.Stat(value); err != nil {
				return errors.New("the file does not exist")
			}
		}
		*into = value
		return nil
	}
}

func (c *Config) setRedis(value string) error {
	parsed, err := url.Parse(value)
	if err != nil || parsed.Scheme != "redis" && parsed.Scheme != "rediss" || parsed.Host == "" {
		return errors.New("must be redis://… or rediss://…") // the error does not contain the value, because it may contain a password
	}
	query := parsed.Query()
	switch sentinel, cluster := query.Get("master_name") != "", query.Has("cluster"); {
	case cluster && query.Get("cluster") != "true":
		return errors.New("cluster must be true, or must be omitted")
	case cluster && sentinel:
		return errors.New("has both master_name and cluster: a cluster has no Sentinels")
	case cluster && strings.Trim(parsed.Path, "/") != "" && parsed.Path != "/0":
		return errors.New("must name database 0 or none, because a cluster has no other")
	case query.Has("addr") && !sentinel && !cluster:
		return errors.New("has several hosts, but neither master_name (the hosts are Sentinels) " +
			"nor cluster=true (the hosts are nodes of a cluster)")
	}
	c.Redis = value
	return nil
}

func (c *Config) setPseudonymKey(value string) error {
	c.PseudonymKey = value
	if value == "" { // some commands do not require the key
		return nil
	}
	return seal.Check(value)
}

func (c *Config) setSecretsKey(value string) error {
	c.SecretsKey = value
	if value == "" {
		return nil
	}
	return seal.Check(value)
}

// olderKeys parses older keys, one per line. An older key may contain spaces.
func olderKeys(into *[]string) func(string) error {
	return func(value string) error {
		*into = nil
		for line := range strings.Lines(value) {
			key := strings.TrimRight(line, "\r\n")
			if key == "" {
				continue
			}
			if len(key) < seal.LeastKey {
				return fmt.Errorf("each key must have at least %d characters", seal.LeastKey)
			}
			*into = append(*into, key)
		}
		return nil
	}
}

func (c *Config) setEgressAllow(value string) (err error) {
	c.EgressAllow, err = egress.ParseAllow(value)
	return err
}

func (c *Config) setEgressRoots(value string) (err error) {
	c.EgressRoots, err = authorities.ReadWithSystem(value)
	return err
}

// setRegistry parses the URL of the schema registry. The URL must not contain credentials, because other users of the
// machine can read the command line.
func (c *Config) setRegistry(value string) error {
	if u, ok := webURL(value); value != "" && (!ok || u.User != nil) {
		return errors.New("not a URL such as https://registry.example:8081")
	}
	c.Registry.URL = value
	return nil
}

// setIngestURL parses the URL of svc ingest.
func (c *Config) setIngestURL(value string) error {
	c.IngestURL = nil
	if value == "" {
		return nil
	}
	u, ok := webURL(value)
	if !ok || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return errors.New("must be an address such as http://svc-ingest:8080, without a path")
	}
	c.IngestURL = u
	return nil
}
