package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Reach opens and closes one connection to an address of the cluster, with TLS if the options enable it. expires is
// the expiry time of the broker's certificate, or the zero time without TLS.
func (o *Options) Reach(ctx context.Context, address string) (expires time.Time, err error) {
	conf, err := o.TLSConfig()
	if err != nil {
		return expires, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return expires, fmt.Errorf("connect to %s: %w", address, err)
	}
	defer conn.Close() //nolint:errcheck // nothing was sent on the connection
	if conf == nil {
		return expires, nil
	}
	if conf.ServerName, _, err = net.SplitHostPort(address); err != nil {
		return expires, fmt.Errorf("connect to %s: %w", address, err)
	}
	secure := tls.Client(conn, conf)
	if err := secure.HandshakeContext(ctx); err != nil {
		return expires, fmt.Errorf("TLS with %s: %w", address, err)
	}
	return secure.ConnectionState().PeerCertificates[0].NotAfter, nil
}

// Inspection is the result of comparing a cluster with the required topics and permissions.
type Inspection struct {
	Brokers int
	Missing []string // topics that do not exist
	Misfits []error  // topic settings that do not match, as Ensure returns them
	Denied  []string // permissions on topics that this user lacks, such as "Write on the topic svc.v1.verdicts"
	// DeniedGroups are the groups that this user is not allowed to read. Each role needs only its own group.
	DeniedGroups []string
}

// rights are the operations on a topic that every role needs, each with the number of its bit in Kafka's metadata
// response.
var rights = []struct {
	bit  int
	name string
}{{3, "Read"}, {4, "Write"}, {8, "Describe"}, {10, "DescribeConfigs"}}

const readGroup = 3 // bit of Read in Kafka's response about a group

// Inspect compares a cluster with the required topics and with the permissions that the roles need. It does not
// change the cluster.
func Inspect(ctx context.Context, c *Cluster, groups []string, topics ...Topic) (found Inspection, err error) {
	request := kmsg.NewPtrMetadataRequest()
	request.IncludeTopicAuthorizedOperations = true
	for _, t := range topics {
		one := kmsg.NewMetadataRequestTopic()
		one.Topic = &t.Name
		request.Topics = append(request.Topics, one)
	}
	answer, err := request.RequestWith(ctx, c.client)
	if err != nil {
		return found, fmt.Errorf("describe topics: %w", err)
	}
	found.Brokers, c.brokers = len(answer.Brokers), len(answer.Brokers)
	readable := map[string]bool{}
	for _, t := range answer.Topics {
		name := deref(t.Topic)
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case errors.Is(err, kerr.TopicAuthorizationFailed):
			found.Denied = append(found.Denied, "Describe on the topic "+name)
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			found.Missing = append(found.Missing, name)
		case err != nil:
			found.Misfits = append(found.Misfits, fmt.Errorf("topic %s: %w", name, err))
		default:
			denied := deniedOn(t.AuthorizedOperations)
			readable[name] = len(denied) == 0 || denied[len(denied)-1] != "DescribeConfigs"
			for _, right := range denied {
				found.Denied = append(found.Denied, right+" on the topic "+name)
			}
		}
	}
	var comparable []Topic
	var names []string
	for _, t := range topics {
		if readable[t.Name] {
			comparable, names = append(comparable, t), append(names, t.Name)
		}
	}
	if len(comparable) > 0 {
		have, err := c.admin.ListTopics(ctx, names...)
		if err != nil {
			return found, fmt.Errorf("list topics: %w", err)
		}
		for _, t := range comparable {
			misfits, err := topicAdmin{Cluster: c}.checkSettings(ctx, []Topic{t}, have)
			if err != nil {
				return found, err
			}
			if misfits != nil {
				found.Misfits = append(found.Misfits, misfits)
			}
		}
	}
	return found, inspectGroups(ctx, c, groups, &found)
}

// deniedOn returns the names of the operations in rights that are missing from the bit set of allowed operations that
// Kafka reported.
func deniedOn(operations int32) (denied []string) {
	if operations == math.MinInt32 { // not reported
		return nil
	}
	for _, r := range rights {
		if operations>>r.bit&1 == 0 {
			denied = append(denied, r.name)
		}
	}
	return denied
}

func inspectGroups(ctx context.Context, c *Cluster, groups []string, found *Inspection) error {
	request := kmsg.NewPtrDescribeGroupsRequest()
	request.IncludeAuthorizedOperations, request.Groups = true, groups
	if len(groups) == 0 {
		return nil
	}
	for _, shard := range c.client.RequestSharded(ctx, request) {
		answer, ok := shard.Resp.(*kmsg.DescribeGroupsResponse)
		if shard.Err != nil || !ok {
			return fmt.Errorf("describe groups: %w", shard.Err)
		}
		for i := range answer.Groups {
			g := &answer.Groups[i]
			err := kerr.ErrorForCode(g.ErrorCode)
			if errors.Is(err, kerr.GroupAuthorizationFailed) ||
				err == nil && g.AuthorizedOperations != math.MinInt32 && g.AuthorizedOperations>>readGroup&1 == 0 {
				found.DeniedGroups = append(found.DeniedGroups, g.Group)
			}
		}
	}
	return nil
}
