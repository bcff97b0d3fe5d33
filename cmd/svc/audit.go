package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/admin/keys"
	"svc/internal/httpapi/access"
	"svc/internal/stream"
	"svc/schemas"
)

// auditLog is the audit topic: the acts of the administrators of all hospitals.
type auditLog struct {
	cluster   *stream.Cluster
	publisher *stream.Publisher
	topic     string
}

func openAudit(cluster *stream.Cluster, prefix string) *auditLog {
	topic := prefix + schemas.Audit().Name
	return &auditLog{cluster, cluster.Publisher(topic), topic}
}

// auditPartition is the only partition. Acts are rare, and readers need them in order.
const auditPartition = 0

// record is [audit.Record].
func (l *auditLog) record(ctx context.Context, act audit.Act) error {
	value, err := schemas.EncodeAct(nil, &act)
	if err != nil {
		return fmt.Errorf("encode act: %w", err)
	}
	_, err = l.publisher.Append(ctx, []byte(act.Hospital), value, auditPartition)
	return err
}

// notDone records that acts of the command line failed because of err, or may have failed.
func notDone(ctx context.Context, record audit.Record, err error, acts ...audit.Act) (fault error) {
	how := audit.Unclear
	if errors.Is(err, access.ErrOvertaken) {
		how = audit.Failed
	}
	for _, act := range acts {
		if fault = record.NotDone(ctx, act, how); fault != nil {
			return fmt.Errorf("put on record that it was not done: %w", fault)
		}
	}
	return nil
}

// list is [audit.List]. It reads backwards from the end. So the newest page of a busy hospital is
// cheap; the oldest page reads the whole topic, 400 days of acts.
func (l *auditLog) list(ctx context.Context, q audit.Query) (audit.Page, error) {
	var page audit.Page
	before := stream.Newest
	if q.Before > 0 {
		before = q.Before
	}
	var fault error
	err := l.cluster.Back(ctx, l.topic, auditPartition, before, func(r stream.Record) bool {
		if string(r.Key) != q.Hospital {
			return !passed(r.Timestamp, q.Since)
		}
		act, err := schemas.DecodeAct(r.Value)
		if err != nil {
			fault = fmt.Errorf("decode act: %w", err)
			return false
		}
		if !q.Matches(act) {
			return !passed(r.Timestamp, q.Since)
		}
		if len(page.Acts) == q.Limit {
			page.Cursor = r.Offset + 1
			return false
		}
		page.Acts = append(page.Acts, *act)
		return true
	})
	if err == nil {
		err = fault
	}
	return page, err
}

// passed reports whether all older records lie before since. The clocks of instances differ by
// less than an hour.
func passed(at, since time.Time) bool {
	return !since.IsZero() && at.Before(since.Add(-time.Hour))
}

// keys returns the configuration of the routes that administer keys.
func (h *service) keys() keys.Config {
	return keys.Config{Shell: h.shell, Ring: h.settings.ring(h.audit, h.now), Used: h.redis.Used}
}

// ring returns the keys in the settings. Each change is recorded as an act.
func (s *settings) ring(log *auditLog, now func() time.Time) *keys.Ring {
	return &keys.Ring{Register: s.register, Seen: s.Seen, Put: s.putKeys, Audit: log.record, Now: now}
}
