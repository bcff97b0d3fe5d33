package schemas

import "time"

// Topic is one log and the properties it is created with.
type Topic struct {
	Name    string   // without the prefix
	Records []string // the kinds of record that lie in it

	Compacted     bool          // the last record of each key stays
	CompactionLag time.Duration // every record stays at least so long
	Retention     time.Duration // records are deleted after it; 0: never

	MaxRecord int // bytes of a batch, which bounds the largest record; 0: the broker's default

	// Copartitioned topics have as many partitions as the observations, so the owner of a
	// partition of the observations owns the same partition of them all.
	Copartitioned bool
}

const day = 24 * time.Hour

// Observations holds every accepted request as one record of facts; it is the only input. It
// is never compacted, so the log can be replayed in its order.
func Observations() Topic {
	records := []string{"observation"}
	return Topic{Name: "svc.v1.observations", Records: records, Retention: 400 * day, MaxRecord: maxRecord, Copartitioned: true}
}

// Verdicts is the changelog and the change feed in one. Under the key of a hospital it holds
// the changes, under all other keys the state. A reader may be behind by the lag without
// missing a change.
func Verdicts() Topic {
	records := []string{
		"change", "unit-state", "room-state", "visit-state", "statement-state", "dedup-state", "mapping-state",
		"code-state", "rule-state", "place-state", "switches-state", "reference-state",
	}
	return Topic{Name: "svc.v1.verdicts", Records: records, Compacted: true, CompactionLag: 7 * day, MaxRecord: maxRecord, Copartitioned: true}
}

// Settings holds keys, hospitals, webhooks and alerts. A record is one whole resource, and the
// last record wins. Every role reads the topic whole at its start.
func Settings() Topic {
	records := []string{
		"key", "hospital", "webhook", "alert-tier", "alert-recipient", "installed-key", "link", "user", "session", "wall", "layout",
	}
	return Topic{Name: "svc.v1.settings", Records: records, Compacted: true}
}

// Audit holds every act of administration, with the actor.
func Audit() Topic {
	return Topic{Name: "svc.v1.audit", Records: []string{"audit"}, Retention: 400 * day}
}

// Deliveries is the ledger of the notifier. Within the lag its records lie in the order in
// which events were made, also when two owners of a partition wrote them.
func Deliveries() Topic {
	records := []string{"ledger-event", "delivery", "endpoint-queue", "notified-unit", "order"}
	return Topic{
		Name: "svc.v1.deliveries", Records: records, Compacted: true, CompactionLag: 7 * day, Retention: 90 * day, Copartitioned: true,
	}
}

// Snapshots holds one record per hospital and hour. The forecast learns from it.
func Snapshots() Topic {
	return Topic{Name: "svc.v1.snapshots", Records: []string{"snapshot"}, Retention: 63 * day, Copartitioned: true}
}

// Models holds the learned forecast of each hospital.
func Models() Topic {
	return Topic{Name: "svc.v1.models", Records: []string{"model"}, Compacted: true, MaxRecord: maxRecord, Copartitioned: true}
}

// DeadLetters holds the places of the records that can never be applied.
func DeadLetters() Topic {
	return Topic{Name: "svc.v1.dead-letters", Records: []string{"dead-letter"}, Retention: 90 * day, Copartitioned: true}
}

// Topics returns all topics.
func Topics() []Topic {
	return []Topic{
		Observations(), Verdicts(), Settings(), Audit(),
		Deliveries(), Snapshots(), Models(), DeadLetters(),
	}
}
