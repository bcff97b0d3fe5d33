package limit

// Kept returns how many addresses are in the table.
func (s *Strangers) Kept() int { return len(s.buckets) }
