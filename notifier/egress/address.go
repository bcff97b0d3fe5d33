package egress

import (
	"net/netip"
	"slices"
)

// verdict classifies an address by the general rules, before an allow list is applied.
type verdict uint8

const (
	public verdict = iota // globally reachable
	byList                // private: allowed only for a hospital that lists it
	never                 // refused even if a hospital lists it
)

// private are the networks that an allow list can permit: RFC 1918, RFC 6598, RFC 4193.
var private = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")

// forbidden contains multicast, and the blocks of the IANA special-purpose registries that are neither globally
// reachable nor private. It includes the addresses at which clouds serve credentials, even within ranges that an
// allow list can permit. Blocks within another listed block are omitted.
var forbidden = prefixes(
	"0.0.0.0/8",       // this network, RFC 791
	"127.0.0.0/8",     // loopback, RFC 1122
	"169.254.0.0/16",  // link-local, RFC 3927; metadata of most clouds
	"192.0.0.0/24",    // IETF protocol assignments, RFC 6890
	"192.0.2.0/24",    // documentation, RFC 5737
	"192.88.99.0/24",  // 6to4 relays, withdrawn, RFC 7526
	"198.18.0.0/15",   // benchmarks, RFC 2544
	"198.51.100.0/24", // documentation, RFC 5737
	"203.0.113.0/24",  // documentation, RFC 5737
	"224.0.0.0/4",     // multicast, RFC 5771
	"240.0.0.0/4",     // reserved, RFC 1112, and broadcast, RFC 8190

	"168.63.129.16/32",   // Azure: platform address of every machine
	"100.100.100.200/32", // Alibaba: metadata, in 100.64/10
	// In fc00::/7:
	"fd00:ec2::/32",          // AWS: metadata, EKS Pod Identity and other services of the platform
	"fd20:ce::254/128",       // Google Cloud: metadata
	"fd00:c1::a9fe:a9fe/128", // Oracle Cloud: metadata
	"fd00:42::42/128",        // Scaleway: metadata

	"2001::/23",     // IETF protocol assignments, RFC 2928: Teredo, ORCHID
	"2001:db8::/32", // documentation, RFC 3849
	"3fff::/20",     // documentation, RFC 9637
)

// globalUnicast is the part of IPv6 from which internet hosts get addresses (RFC 4291, IANA IPv6 address space).
// Loopback, link-local, discard, SRv6, multicast, embedded IPv4 and unassigned addresses are outside it.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// The prefixes of IPv6 addresses from which a host or a relay extracts an IPv4 address.
var (
	nat64   = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052: the last four bytes
	sixToIV = netip.MustParsePrefix("2002::/16")    // RFC 3056: bytes 2 to 5
)

// judge returns the verdict on an address, and the address that the verdict refers to: for an IPv4-mapped IPv6
// address, this is the IPv4 address.
func judge(a netip.Addr) (verdict, netip.Addr) {
	if a.Zone() != "" || !a.IsValid() {
		return never, a
	}
	a = a.Unmap() // the kernel dials the IPv4 address
	if a.Is6() {
		inner, wrapped := unwrap(a)
		switch {
		case wrapped:
			// A relay would reach the embedded address from a different place in the network. Allow lists refer to
			// the dialed address, so they do not apply to the embedded one.
			if v, _ := judge(inner); v != public {
				return never, a
			}
			return public, a
		case !globalUnicast.Contains(a) && !within(a, private):
			return never, a
		}
	}
	switch {
	case within(a, forbidden):
		return never, a
	case within(a, private):
		return byList, a
	}
	return public, a
}

func unwrap(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	switch {
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToIV.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return a, false
}

func within(a netip.Addr, blocks []netip.Prefix) bool {
	return slices.ContainsFunc(blocks, func(block netip.Prefix) bool { return block.Contains(a) })
}

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}
