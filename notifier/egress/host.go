package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// portOf returns the port that would be dialled; 0 is an invalid port.
func portOf(u *url.URL) uint16 {
	switch text := u.Port(); {
	case text != "":
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || text[0] == '0' {
			return 0
		}
		return uint16(port)
	case u.Scheme == "https":
		return 443
	default:
		return 80
	}
}

// plainHost reports whether a host means the same to everybody who reads it. It
// refuses the old spellings of IPv4 addresses that some resolvers accept: decimal,
// octal, hexadecimal, fewer than four numbers (WHATWG URL, "ends in a number"). It
// also refuses zones, a trailing dot, and all that is not ASCII: clients map
// fullwidth digits or the ideographic full stop to plain ones. An international name
// is written in its xn-- form.
func plainHost(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Zone() == ""
	}
	if host == "" || len(host) > 253 {
		return false
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if !nameByte(label[i]) {
				return false
			}
		}
	}
	return !numeric(labels[len(labels)-1])
}

func nameByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '-' || b == '_'
}

// numeric reports whether inet_aton reads a label as a number.
func numeric(label string) bool {
	if rest, ok := strings.CutPrefix(strings.ToLower(label), "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
