package facts

// Skip advances Next past the given spans of hours, which need no new snapshot because their snapshots were made on
// time. If no hours remain, Skip ends the backfill.
func (b *Backfill) Skip(live []HourSpan) {
	for _, s := range live {
		if s.From <= b.Next && b.Next <= s.To {
			b.Next = s.To + 1
		}
	}
	if b.Next > b.Until {
		*b = Backfill{}
	}
}

// Left returns the number of hours that still need a new snapshot.
func (b *Backfill) Left(live []HourSpan) int32 {
	n := b.Until - b.Next + 1
	for _, s := range live {
		n -= max(min(s.To, b.Until)-max(s.From, b.Next)+1, 0)
	}
	return n
}
