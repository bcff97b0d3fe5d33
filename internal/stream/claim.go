package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrFenced says that another process, a newer one, runs under our name.
var ErrFenced = errors.New("a newer process has the same --instance, so this one ends")

// errThrownOut ends a session: another member has joined the group under our name.
var errThrownOut = errors.New("another process has joined the group under the same name")

// Claim is the hold of a process on its names, of which the process that took it last is
// the newest. Its sessions ask it before they join a group: whoever joins a group under
// a name throws out the member that has it, and so could an older process that joins
// again a newer one. A nil Claim is always the newest.
//
// A name is a transactional id in which no transaction is ever begun. To take it is
// to have Kafka count its epoch up; whoever finds another epoch there is older.
type Claim struct {
	cluster *Cluster

	mu   sync.Mutex
	held []hold
	took time.Time
}

// hold is a name with the epoch that it had when it was taken.
type hold struct {
	name     string
	producer int64
	epoch    int16
}

const (
	claimEvery = 2 * time.Second
	// claimSettles is how long two processes that start together may take names in
	// turns. Until then the first name alone decides which of them is newer, so that
	// they do not both find themselves the older one.
	claimSettles = 10 * time.Second
	claimWithin  = 5 * time.Second // one look
	// claimTimeoutMillis is that of a transaction, which a request must name.
	claimTimeoutMillis = 10_000
)

// NewClaim takes names in their order. It waits for Kafka until ctx ends; [ErrFenced] if
// another process took them meanwhile.
func NewClaim(ctx context.Context, c *Cluster, names ...string) (*Claim, error) {
	claim := &Claim{cluster: c}
	for _, name := range names {
		if err := claim.Check(ctx); errors.Is(err, ErrFenced) {
			return nil, err
		}
		var h hold
		if err := c.persist(ctx, "take the instance's name", func() (err error) {
			h, err = claim.take(ctx, hold{name: name, producer: -1, epoch: -1})
			return err
		}); err != nil {
			return nil, err
		}
		claim.held = append(claim.held, h)
		claim.took = time.Now()
	}
	return claim, nil
}

// Check returns [ErrFenced] if another process has taken a name since; any other error
// says that nobody knows.
func (c *Claim) Check(ctx context.Context) error {
	if c == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.held {
		newest, err := c.newest(ctx, &c.held[i])
		if err == nil && !newest && i > 0 && time.Since(c.took) < claimSettles {
			c.held[i], err = c.take(ctx, hold{name: c.held[i].name, producer: -1, epoch: -1})
			newest = true
		}
		if err != nil {
			return err
		}
		if !newest {
			return fmt.Errorf("%w (%s)", ErrFenced, c.held[i].name)
		}
	}
	return nil
}

// Run looks at the names until ctx ends or one is taken: an older process must end also
// where nothing of it meets the newer one.
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
			c.cluster.log.DebugContext(ctx, "the instance's name is not seen", "error", err)
		}
	}
}

// judge tells what a session ends with that was thrown out of its group: a process that
// is the newest joins again, and the older one finds that out by itself.
func (c *Claim) judge(ctx context.Context, err error) error {
	switch {
	case !errors.Is(err, errThrownOut):
		return err
	case c == nil: // nobody knows who is newer
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	if checked := c.Check(ctx); checked != nil {
		return checked
	}
	return err
}

// newest reports whether nobody has taken a name since. A name that Kafka has forgotten,
// as it does with one that was not used for a week, is taken again.
func (c *Claim) newest(ctx context.Context, h *hold) (bool, error) {
	described, err := c.cluster.admin.DescribeTransactions(ctx, h.name)
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", h.name, err)
	}
	now, err := described.On(h.name, nil)
	if err == nil {
		err = now.Err
	}
	switch {
	case errors.Is(err, kerr.TransactionalIDNotFound):
		var again hold
		again, err = c.take(ctx, *h)
		if errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch) {
			return false, nil
		}
		if err == nil {
			*h = again
		}
		return err == nil, err
	case err != nil:
		return false, fmt.Errorf("look at %s: %w", h.name, err)
	}
	return now.ProducerID == h.producer && now.ProducerEpoch == h.epoch, nil
}

// take counts the epoch of a name up; from a known one only if it is still that.
func (c *Claim) take(ctx context.Context, from hold) (hold, error) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &from.name, claimTimeoutMillis
	req.ProducerID, req.ProducerEpoch = from.producer, from.epoch
	resp, err := req.RequestWith(ctx, c.cluster.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		return hold{}, fmt.Errorf("take %s: %w", from.name, err)
	}
	return hold{from.name, resp.ProducerID, resp.ProducerEpoch}, nil
}
