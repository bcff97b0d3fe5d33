package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Allowed is a nonpublic network in which a hospital may have endpoints.
type Allowed struct {
	Hospital string
	Network  netip.Prefix
	Ports    []uint16
}

// ParseAllow parses an allow list: comma-separated entries of the form HOSPITAL=NETWORK[:PORT[+PORT]], such as
// mercy=10.20.0.0/16:443,mercy=[fd20::5]:9443+9444. A single address needs no prefix length; the default ports are
// 443 and 8443. The error lists all faults, each with the position of the entry, and does not contain the entries.
func ParseAllow(text string) ([]Allowed, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var all []Allowed
	var faults []error
	for i, entry := range strings.Split(text, ",") {
		a, err := parseAllowed(strings.TrimSpace(entry))
		if err != nil {
			faults = append(faults, fmt.Errorf("entry %d: %w", i+1, err))
			continue
		}
		all = append(all, a)
	}
	return all, errors.Join(faults...)
}

func parseAllowed(entry string) (Allowed, error) {
	hospital, rest, ok := strings.Cut(entry, "=")
	if !ok || hospital == "" {
		return Allowed{}, errors.New("must be HOSPITAL=NETWORK[:PORT]")
	}
	a := Allowed{Hospital: hospital, Ports: slices.Clone(ports)}
	network, port := splitPort(rest)
	if port != "" {
		a.Ports = nil
		for one := range strings.SplitSeq(port, "+") {
			n, err := strconv.ParseUint(one, 10, 16)
			if err != nil || n == 0 {
				return Allowed{}, errors.New("the port must be a number up to 65535")
			}
			a.Ports = append(a.Ports, uint16(n))
		}
	}
	var err error
	if a.Network, err = netip.ParsePrefix(network); err != nil {
		address, fault := netip.ParseAddr(network)
		if fault != nil || address.Zone() != "" {
			return Allowed{}, errors.New("the network must be an address or a prefix such as 10.20.0.0/16")
		}
		a.Network = netip.PrefixFrom(address, address.BitLen())
	}
	if a.Network != a.Network.Masked() {
		return Allowed{}, errors.New("the network has host bits set")
	}
	if a.Network.Addr().Is4In6() {
		return Allowed{}, errors.New("the network must be written as IPv4")
	}
	if v, _ := judge(a.Network.Addr()); v == never {
		return Allowed{}, errors.New("the network is never allowed: loopback, link-local, reserved, or IPv4 embedded in IPv6")
	}
	return a, nil
}

// splitPort splits a network and its port. The port follows the prefix length, a bracket or an IPv4 address.
func splitPort(text string) (network, port string) {
	var bits string
	if inside, after, ok := strings.Cut(strings.TrimPrefix(text, "["), "]"); ok && text[0] == '[' {
		bits, port, _ = strings.Cut(after, ":")
		return inside + bits, port
	}
	head, tail := "", text
	if slash := strings.LastIndexByte(text, '/'); slash >= 0 {
		head, tail = text[:slash], text[slash:]
	} else if strings.Count(text, ":") > 1 {
		return text, "" // an IPv6 address without brackets has no port
	}
	network, port, _ = strings.Cut(tail, ":")
	return head + network, port
}
