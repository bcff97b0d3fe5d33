package forecast

import (
	"time"

	"svc/acuity"
)

// Learn teaches a model one hour, and reports whether it did: an hour that is
// not after the last one is skipped. The model keeps the snapshot. A nil zone is
// UTC.
func Learn(m *Model, s *acuity.Snapshot, _ *time.Location) bool {
	if s.Hour <= m.Hour {
		return false
	}
	m.see(s.Hour, s.Observed)
	m.Generation = max(m.Generation, s.Generation)
	if !s.Observed {
		m.Pending = m.Pending[:0]
		return true
	}
	m.Learnt++
	return true
}
