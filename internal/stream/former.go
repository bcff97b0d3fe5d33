package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// formerEvery is the interval at which awaitFormer asks for the members of the group.
const formerEvery = 500 * time.Millisecond

// errUnsettled means that a group does not report its members in its current state.
var errUnsettled = errors.New("group members unknown")

// awaitFormer waits until no member of the group subscribes to former, the input topic of the previous build, or
// until ctx ends.
func (m *membership) awaitFormer(ctx context.Context, former string) {
	for waits := false; ctx.Err() == nil; {
		n, err := m.subscribers(ctx, former)
		if err == nil && n == 0 {
			return
		}
		if !waits {
			m.log.InfoContext(ctx, "waiting for processes of the previous build", "members", n, "error", err)
			waits = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(formerEvery):
		}
	}
}

// subscribers returns the number of members of the group that subscribe to a topic. A static member counts until its
// session times out, even if its process has ended. While the group rebalances, its members are unknown, and
// subscribers returns an error.
func (m *membership) subscribers(ctx context.Context, topic string) (n int, err error) {
	all, err := m.cluster.admin.DescribeGroups(ctx, m.group)
	if err == nil {
		err = all.Error()
	}
	if errors.Is(err, kerr.GroupIDNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("describe group %s: %w", m.group, err)
	}
	switch state := all[m.group].State; state {
	case "Stable", "Empty", "Dead", "":
	default:
		return 0, fmt.Errorf("describe group %s: %w: %s", m.group, errUnsettled, state)
	}
	for _, member := range all[m.group].Members {
		if meta, ok := member.Join.AsConsumer(); ok && slices.Contains(meta.Topics, topic) {
			n++
		}
	}
	return n, nil
}
