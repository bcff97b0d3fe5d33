package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// A process that dies or freezes during a transaction leaves the transaction open. read_committed consumers cannot
// read past an open transaction until the broker aborts it: after transactionTimeout, or up to 10 s later on a broker
// with default settings. The members that take over the partitions of the process need not wait. They fence the
// process: they increment the epoch of its transactional id, so that the broker aborts the transaction immediately
// and refuses all later requests of the process.
//
// Members are identified by their transactional ids, which are also their instance ids. A process that is not a
// member can never commit its transaction, because the broker refuses the offsets that it commits.

const (
	fenceWithin   = 30 * time.Second      // time limit of fencing; by then, the broker has aborted the transaction on its own
	fenceWait     = 2 * time.Second       // maximum delay of an assignment; after that, fencing continues in the background
	fenceRequest  = 2 * time.Second       // timeout of one round of requests, even if a broker does not respond
	fenceEndCheck = 10 * time.Millisecond // interval between checks for the end of the transaction
)

// fenceFormer aborts the open transactions of processes that are no longer members of the group. It returns when
// fencing has ended, after fenceWait, or when ctx ends.
func (m *membership) fenceFormer(ctx context.Context) {
	if m.cluster.embedded {
		return // all members are in one process
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		limited, cancel := context.WithTimeout(ctx, fenceWithin)
		defer cancel()
		err := m.cluster.persist(limited, "former members not fenced", func() error { return m.fenceOnce(limited) })
		if err != nil && ctx.Err() == nil {
			m.log.WarnContext(ctx, "former members not fenced", "error", advised(err))
		}
	}()
	select {
	case <-done:
	case <-time.After(fenceWait):
	case <-ctx.Done():
	}
}

// fenceOnce fences every process that has an open transaction but is not a member of the group. It lists the
// transactions first and then the members, so a process that joins in between under the same name is either listed as
// a member or has a different epoch, and is not fenced.
func (m *membership) fenceOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fenceRequest)
	defer cancel()
	open, unlisted := m.openTransactions(ctx)
	if len(open) == 0 {
		return unlisted
	}
	groups, err := m.cluster.admin.DescribeGroups(ctx, m.group)
	if err == nil {
		err = groups.Error()
	}
	if err != nil {
		return fmt.Errorf("describe group %s: %w", m.group, err)
	}
	open = slices.DeleteFunc(open, func(t kadm.DescribedTransaction) bool {
		return slices.ContainsFunc(groups[m.group].Members, func(member kadm.DescribedGroupMember) bool {
			return deref(member.InstanceID) == t.TxnID
		})
	})
	faults := []error{unlisted}
	for i := range open {
		faults = append(faults, m.fence(ctx, &open[i]))
	}
	return errors.Join(faults...)
}

// openTransactions returns the open transactions of all transactional ids of the group except this member's. If some
// brokers do not respond, it returns the transactions on the other brokers and an error.
func (m *membership) openTransactions(ctx context.Context) (open []kadm.DescribedTransaction, err error) {
	listed, unlisted := m.cluster.admin.ListTransactions(ctx, nil, []string{txnOngoing})
	if unlisted != nil {
		unlisted = fmt.Errorf("list transactions: %w", unlisted)
	}
	ids := slices.DeleteFunc(listed.TransactionalIDs(), func(id string) bool {
		return id == m.id || !strings.HasPrefix(id, m.group+"-")
	})
	if len(ids) == 0 {
		return nil, unlisted
	}
	described, err := m.cluster.admin.DescribeTransactions(ctx, ids...)
	if err != nil {
		unlisted = errors.Join(unlisted, fmt.Errorf("describe transactions: %w", err))
	}
	for _, t := range described.Sorted() {
		if t.Err == nil && t.State == txnOngoing {
			open = append(open, t)
		}
	}
	return open, unlisted
}

const txnOngoing = "Ongoing" // state of a transaction that is neither committing nor aborting yet

// fence increments the epoch of a transactional id if the epoch is still that of the transaction, and waits until the
// transaction has ended.
func (m *membership) fence(ctx context.Context, t *kadm.DescribedTransaction) error {
	err := initProducer(ctx, m.cluster.client, &claimedName{t.TxnID, t.ProducerID, t.ProducerEpoch})
	switch {
	case errors.Is(err, kerr.ProducerFenced), errors.Is(err, kerr.InvalidProducerEpoch):
		return nil // another member, or a new process with that name, has ended the transaction
	case err != nil && !errors.Is(err, kerr.ConcurrentTransactions): // ConcurrentTransactions means that the abort is in progress
		return fmt.Errorf("fence: %w", err)
	}
	m.log.InfoContext(ctx, "former member fenced", "transactional_id", t.TxnID)
	for {
		described, err := m.cluster.admin.DescribeTransactions(ctx, t.TxnID)
		if err != nil {
			return fmt.Errorf("describe transactions: %w", err)
		}
		if now := described[t.TxnID]; slices.Contains(endedStates, now.State) || now.ProducerID != t.ProducerID {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of %s: %w", t.TxnID, ctx.Err())
		case <-time.After(fenceEndCheck):
		}
	}
}
