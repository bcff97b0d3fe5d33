package limit_test

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"svc/internal/httpapi/limit"
)

func TestStrangers(t *testing.T) {
	now := time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)
	s := limit.NewStrangers(limit.Rate{PerSecond: 2, Burst: 10}, func() time.Time { return now })
	until := func(address string) (n int, retry time.Duration) {
		from := netip.MustParseAddr(address)
		for ; n < 1000; n++ {
			ok, wait := s.Allow(from)
			if !ok {
				return n, wait
			}
		}
		return n, 0
	}
	for _, address := range []string{"10.0.0.1", "10.0.0.2", "2001:db8::1", "2001:db8:0:1::1"} {
		if n, retry := until(address); n != 10 || retry != 500*time.Millisecond {
			t.Errorf("%s: %d, again in %v", address, n, retry)
		}
	}
	for _, same := range []string{"::ffff:10.0.0.1", "2001:db8::2:2"} {
		if n, _ := until(same); n != 0 {
			t.Errorf("%s: %d of one that has used its own", same, n)
		}
	}
	now = now.Add(3 * time.Second)
	if n, _ := until("10.0.0.1"); n != 6 {
		t.Errorf("after three seconds %d", n)
	}
	if s.Limited() != 7 {
		t.Errorf("%d were limited", s.Limited())
	}
	none := limit.NewStrangers(limit.Rate{}, time.Now)
	for range 1000 {
		if ok, _ := none.Allow(netip.MustParseAddr("10.0.0.1")); !ok {
			t.Fatal("limited without a rate")
		}
	}
	if ok, _ := s.Allow(netip.Addr{}); !ok { // a request in a test has no address
		t.Error("limited without an address")
	}
}

// TestStrangersAreBounded: a flood of addresses uses a limited amount of memory. An address with an empty bucket
// keeps its bucket as long as the table has full buckets, which can be removed instead.
func TestStrangersAreBounded(t *testing.T) {
	now := time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)
	s := limit.NewStrangers(limit.Rate{PerSecond: 1, Burst: 2}, func() time.Time { return now })
	address := func(n uint32) netip.Addr { return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n))) }
	for n := range uint32(9_990) {
		s.Allow(address(n))
	}
	now = now.Add(time.Hour) // all buckets are full again, as if the addresses had never sent a request
	busy := netip.MustParseAddr("192.0.2.1")
	s.Allow(busy)
	s.Allow(busy)
	for n := range uint32(100) {
		s.Allow(address(1<<20 + n))
	}
	if ok, _ := s.Allow(busy); ok {
		t.Error("who owes was forgotten")
	}
	for n := range uint32(200_000) {
		s.Allow(address(1<<24 + n))
	}
	if s.Kept() > 10_000 {
		t.Errorf("%d are kept", s.Kept())
	}
}
