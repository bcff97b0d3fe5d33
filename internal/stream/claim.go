package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrFenced means that a newer process runs with the same instance name.
var ErrFenced = errors.New("a newer process has the same --instance, so this process stops")

// errThrownOut is the error of a session that ends because another member has joined the group under the same name.
var errThrownOut = errors.New("another process has joined the group under the same name")

// Claim ensures that of several processes with the same --instance, only the newest continues. Without a Claim, both
// of two such processes exited in 3 of 5 tries, because a process has several members and sessions, and the older
// process fenced some members of the newer one.
//
// A Claim holds the names of a process. The process that claimed a name last is the newest. Sessions check the Claim
// before they join a group, because joining with a name removes the member that has it. A process with a nil Claim
// considers itself the newest.
//
// A name is a transactional id that is never used for a transaction. Claiming it makes Kafka increment its epoch. A
// process that finds a different epoch is the older one.
type Claim struct {
	cluster *Cluster

	mu   sync.Mutex
	held []claimedName
	took time.Time
}

// claimedName is a name with its epoch when it was claimed.
type claimedName struct {
	name     string
	producer int64
	epoch    int16
}

const (
	claimEvery = 2 * time.Second
	// claimSettles is how long two processes that start together may claim names alternately. During this time, only
	// the first name decides which process is newer, so that at most one considers itself older.
	claimSettles = 10 * time.Second
	claimWithin  = 5 * time.Second // time limit of one check
	// claimTimeoutMillis is the transaction timeout, which a request that claims a name must specify.
	claimTimeoutMillis = 10_000
)

// NewClaim claims names in order. It retries while Kafka is unavailable, until ctx ends. It returns [ErrFenced] if
// another process has claimed the names in the meantime.
func NewClaim(ctx context.Context, c *Cluster, names ...string) (*Claim, error) {
	claim := &Claim{cluster: c}
	for _, name := range names {
		if err := claim.Check(ctx); errors.Is(err, ErrFenced) {
			return nil, err
		}
		h := unclaimed(name)
		if err := c.persist(ctx, "instance name not claimed", func() error { return claim.acquire(ctx, &h) }); err != nil {
			return nil, err
		}
		claim.held = append(claim.held, h)
		claim.took = time.Now()
	}
	return claim, nil
}

// Check returns [ErrFenced] if another process has claimed a name. After any other error, it is unknown whether
// another process has claimed one.
func (c *Claim) Check(ctx context.Context) error {
	if c == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.held {
		h := &c.held[i]
		err := c.checkName(ctx, h)
		if errors.Is(err, ErrFenced) && i > 0 && time.Since(c.took) < claimSettles {
			*h = unclaimed(h.name)
			err = c.acquire(ctx, h)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Run checks the names until ctx ends or another process has claimed one. An older process must exit even if it never
// shares a group with the newer one.
func (c *Claim) Run(ctx context.Context) error {
	every := time.NewTicker(claimEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
		switch err := c.Check(ctx); {
		case errors.Is(err, ErrFenced):
			return err
		case err != nil && ctx.Err() == nil:
			c.cluster.log.DebugContext(ctx, "instance name not checked", "error", err)
		}
	}
}

// judge turns the error of a session into the error that the caller acts on. If another member has replaced the
// session, and this may not be the newest process, judge returns [ErrFenced] or the error of the check. In all other
// cases, it returns err unchanged, and the caller decides whether to open a new session.
func (c *Claim) judge(ctx context.Context, err error) error {
	switch {
	case !errors.Is(err, errThrownOut):
		return err
	case c == nil: // without a claim, it is unknown which process is the newest
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	if checked := c.Check(ctx); checked != nil {
		return checked
	}
	return err
}

// checkName returns [ErrFenced] if another process has claimed a name. A name that Kafka has deleted, for example
// after a week without use, is claimed again.
func (c *Claim) checkName(ctx context.Context, h *claimedName) error {
	described, err := c.cluster.admin.DescribeTransactions(ctx, h.name)
	if err != nil {
		return fmt.Errorf("describe transaction of %s: %w", h.name, err)
	}
	now, err := described.On(h.name, nil)
	if err == nil {
		err = now.Err
	}
	taken := err == nil && (now.ProducerID != h.producer || now.ProducerEpoch != h.epoch)
	if errors.Is(err, kerr.TransactionalIDNotFound) {
		err = c.acquire(ctx, h)
		taken = errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch)
	}
	switch {
	case taken:
		return fmt.Errorf("%w (%s)", ErrFenced, h.name)
	case err != nil:
		return fmt.Errorf("describe transaction of %s: %w", h.name, err)
	}
	return nil
}

// unclaimed returns a name whose epoch is unknown.
func unclaimed(name string) claimedName { return claimedName{name, -1, -1} }

// acquire increments the epoch of a name. If the epoch in h is known, it must still be the current epoch of the name.
func (c *Claim) acquire(ctx context.Context, h *claimedName) error {
	return initProducer(ctx, c.cluster.client, h)
}

// initProducer increments the epoch of a transactional id, which fences its current producer, and sets h to the new
// epoch. If the epoch in h is known, it must still be the current epoch of the id.
func initProducer(ctx context.Context, client *kgo.Client, h *claimedName) error {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &h.name, claimTimeoutMillis
	req.ProducerID, req.ProducerEpoch = h.producer, h.epoch
	resp, err := req.RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("claim %s: %w", h.name, err)
	}
	h.producer, h.epoch = resp.ProducerID, resp.ProducerEpoch
	return nil
}
