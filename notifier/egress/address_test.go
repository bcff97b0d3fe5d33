package egress

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestRegistries: an address is never public if it is in a block that IANA lists as not globally reachable. This
// includes the first and the last address of the block.
func TestRegistries(t *testing.T) {
	content, err := os.ReadFile("testdata/iana.txt")
	if err != nil {
		t.Fatal(err)
	}
	closed := 0
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) != 2 || fields[1] != "no" {
			continue
		}
		closed++
		block := netip.MustParsePrefix(fields[0])
		t.Run(fields[0], func(t *testing.T) {
			if block.Addr().Is4In6() {
				t.Log("judged as the IPv4 address inside: TestWrappings")
				return
			}
			rapid.Check(t, func(t *rapid.T) {
				fill := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0xff, 1, 0x80, 0x7f}), 16, 16).Draw(t, "host bits")
				if a := inBlock(block, fill); verdictOf(a) == public {
					t.Fatalf("%s is public", a)
				}
			})
		})
	}
	if closed < 30 {
		t.Errorf("only %d blocks", closed)
	}
}

// inBlock returns the address in block whose bits after the prefix are those of fill.
func inBlock(block netip.Prefix, fill []byte) netip.Addr {
	bytes := block.Addr().AsSlice()
	for i := block.Bits(); i < len(bytes)*8; i++ {
		bit := byte(0x80) >> (i % 8)
		bytes[i/8] = bytes[i/8]&^bit | fill[i/8]&bit
	}
	a, _ := netip.AddrFromSlice(bytes)
	return a
}

func verdictOf(a netip.Addr) verdict {
	v, _ := judge(a)
	return v
}

// TestWrappings: an IPv4-mapped IPv6 address has the same verdict as its IPv4 address. An IPv6 address from which a
// relay extracts an IPv4 address is allowed only if that IPv4 address is public.
func TestWrappings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v4 := netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")))
		if rapid.Bool().Draw(t, "special") {
			block := rapid.SampledFrom(append(forbidden[:13:13], private[:4]...)).Draw(t, "block")
			if block.Addr().Is4() {
				v4 = inBlock(block, []byte{1, 2, 3, 4})
			}
		}
		want := verdictOf(v4)
		mapped := netip.AddrFrom16(v4.As16())
		if got := verdictOf(mapped); got != want {
			t.Fatalf("%s: %d, but %s: %d", mapped, got, v4, want)
		}
		bytes := v4.As4()
		relayed := want
		if want != public {
			relayed = never
		}
		for _, wrapped := range []netip.Addr{
			netip.AddrFrom16([16]byte{0x00, 0x64, 0xff, 0x9b, 12: bytes[0], 13: bytes[1], 14: bytes[2], 15: bytes[3]}),
			netip.AddrFrom16([16]byte{0x20, 0x02, bytes[0], bytes[1], bytes[2], bytes[3], 15: 1}),
		} {
			if got := verdictOf(wrapped); got != relayed {
				t.Fatalf("%s: %d, want %d", wrapped, got, relayed)
			}
		}
	})
}
