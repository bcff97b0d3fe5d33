package schemas

import "time"

// Topic is one log and the properties it is created with.
type Topic struct {
	Name string // without the prefix

	Compacted     bool          // of each key the last record stays
	CompactionLag time.Duration // at least so long every record stays all the same
	Retention     time.Duration // records are deleted after it; 0: never

	MaxRecord int // bytes of a batch, so of the largest record; 0: as the broker has it

	// Copartitioned: as many partitions as the observations, so that whoever
	// owns a partition of those owns that of this topic too.
	Copartitioned bool
}

const day = 24 * time.Hour

// Observations is every accepted request, as one record of facts: the only input.
// It is never compacted, so that the log can be replayed as it happened.
func Observations() Topic {
	return Topic{Name: "svc.v1.observations", Retention: 400 * day, MaxRecord: maxRecord, Copartitioned: true}
}

// Verdicts is the changelog and the change feed in one: by hospital its changes,
// by the other keys its state. The lag is what a reader may be behind without
// missing a change.
func Verdicts() Topic {
	return Topic{Name: "svc.v1.verdicts", Compacted: true, CompactionLag: 7 * day, MaxRecord: maxRecord, Copartitioned: true}
}

// Settings is keys, hospitals, webhooks, alerts: one record is one whole
// resource, the last one wins. Every role reads it whole at its start.
func Settings() Topic { return Topic{Name: "svc.v1.settings", Compacted: true} }

// Audit is who did what in administration.
func Audit() Topic { return Topic{Name: "svc.v1.audit", Retention: 400 * day} }

// Deliveries is the ledger of the notifier. Within the lag its order is the one
// in which events were made, also of one that two owners of a partition wrote.
func Deliveries() Topic {
	return Topic{Name: "svc.v1.deliveries", Compacted: true, CompactionLag: 7 * day, Retention: 90 * day, Copartitioned: true}
}

// Snapshots is one record per hospital and hour, what the forecast learns from.
func Snapshots() Topic {
	return Topic{Name: "svc.v1.snapshots", Retention: 63 * day, Copartitioned: true}
}

// Models is the learned forecast of each hospital.
func Models() Topic {
	return Topic{Name: "svc.v1.models", Compacted: true, MaxRecord: maxRecord, Copartitioned: true}
}

// DeadLetters is where the records lie that can never be applied.
func DeadLetters() Topic {
	return Topic{Name: "svc.v1.dead-letters", Retention: 90 * day, Copartitioned: true}
}

// Topics returns all of them.
func Topics() []Topic {
	return []Topic{
		Observations(), Verdicts(), Settings(), Audit(),
		Deliveries(), Snapshots(), Models(), DeadLetters(),
	}
}
