package schemas

import "time"

// Topic is a Kafka topic, with the properties that it has when it is created.
type Topic struct {
	Name    string   // name without the installation's prefix
	Records []string // names of the kinds of records in the topic

	Compacted     bool          // whether only the last record for each key is kept
	CompactionLag time.Duration // minimum time before a record may be compacted
	Retention     time.Duration // time after which records are deleted; 0: never

	MaxRecord int // maximum size of a batch, and therefore of a record, in bytes; 0: the broker's default

	// Copartitioned means that the topic has as many partitions as the observations topic. The owner of a partition
	// of the observations topic then also owns the partition with the same number in this topic.
	Copartitioned bool
}

const day = 24 * time.Hour

// Observations returns the topic with one record for each accepted request, which contains the facts in the request.
// It is the only input of the processors. It is never compacted, so it can be replayed in order.
func Observations() Topic {
	records := []string{"observation"}
	return Topic{Name: "svc.v1.observations", Records: records, Retention: 400 * day, MaxRecord: maxRecord, Copartitioned: true}
}

// Verdicts returns the topic that is both the changelog and the change feed. Records whose key is only a hospital id
// are changes of that hospital, and records with other keys are state. A reader whose lag is less than CompactionLag
// does not miss any change.
func Verdicts() Topic {
	records := []string{
		"change", "unit-state", "room-state", "visit-state", "statement-state", "dedup-state", "mapping-state",
		"code-state", "rule-state", "place-state", "switches-state", "reference-state", "past-staffing-state",
	}
	return Topic{Name: "svc.v1.verdicts", Records: records, Compacted: true, CompactionLag: 7 * day, MaxRecord: maxRecord, Copartitioned: true}
}

// Settings returns the topic with the keys, hospitals, webhooks, alert settings and users. Each record is one
// complete resource, and the last record for a key is the current one. Every role reads the whole topic when it
// starts.
func Settings() Topic {
	records := []string{
		"key", "hospital", "webhook", "alert-tier", "alert-recipient", "installed-key", "link", "user", "session", "wall", "layout",
	}
	return Topic{Name: "svc.v1.settings", Records: records, Compacted: true}
}

// Audit returns the topic with one record for each administrative act. The record says who performed the act.
func Audit() Topic {
	return Topic{Name: "svc.v1.audit", Records: []string{"audit"}, Retention: 400 * day}
}

// Deliveries returns the topic with the notifier's ledger. Within CompactionLag, the records are in the order in
// which the events were created, even if a partition changed owners in the meantime.
func Deliveries() Topic {
	records := []string{"ledger-event", "delivery", "endpoint-queue", "notified-unit", "order", "alert-run"}
	return Topic{
		Name: "svc.v1.deliveries", Records: records, Compacted: true, CompactionLag: 7 * day, Retention: 90 * day, Copartitioned: true,
	}
}

// Snapshots returns the topic with one record per hospital and hour, from which forecast models are learned. The
// verdict processor writes each snapshot in the same transaction as the change for that hour.
func Snapshots() Topic {
	return Topic{Name: "svc.v1.snapshots", Records: []string{"snapshot"}, Retention: 63 * day, Copartitioned: true}
}

// Models returns the topic with the learned forecast model of each hospital.
func Models() Topic {
	return Topic{Name: "svc.v1.models", Records: []string{"model"}, Compacted: true, MaxRecord: maxRecord, Copartitioned: true}
}

// DeadLetters returns the topic with the positions of records that can never be applied.
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
