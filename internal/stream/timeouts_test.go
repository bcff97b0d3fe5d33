package stream

import (
	"testing"
	"time"
)

// TestTimeoutsFitTogether: the timeouts that depend on each other, and on the defaults of a broker, leave enough time.
func TestTimeoutsFitTogether(t *testing.T) {
	t.Parallel()
	const (
		brokerSession = 9 * time.Second  // broker.session.timeout.ms: a lost broker leads its partitions for that long
		request       = 3 * time.Second  // a produce request to the lost broker, see Options.client
		brokerChecks  = 10 * time.Second // transaction.abort.timed.out.transaction.cleanup.interval.ms
	)
	if least := brokerSession + request; transactionTimeout <= least {
		t.Errorf("a transaction may stay open for %v: the loss of a broker, which takes %v, would abort it", transactionTimeout, least)
	}
	if open := transactionTimeout + brokerChecks; waitingLooks*hangingEvery <= open {
		t.Errorf("a position that has been blocked for %v counts as hanging, but a transaction may block it for %v", waitingLooks*hangingEvery, open)
	}
}
