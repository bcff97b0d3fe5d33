package limit

// Kept is how many addresses are remembered.
func (s *Strangers) Kept() int { return len(s.buckets) }
