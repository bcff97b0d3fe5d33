package limit

// Kept returns the number of addresses in the table.
func (s *Strangers) Kept() int { return len(s.buckets) }
