package stream

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestEmbeddedForJava: administrative Java clients cannot parse one response of the embedded broker, so the broker must
// report that it does not support that request.
func TestEmbeddedForJava(t *testing.T) {
	b, err := Embed(BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	versions, err := kadm.NewClient(client).ApiVersions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		if _, known := v.KeyMaxVersion(kmsg.DescribeTopicPartitions.Int16()); known {
			t.Error("the broker answers DescribeTopicPartitions")
		}
		if _, known := v.KeyMaxVersion(kmsg.Metadata.Int16()); !known {
			t.Error("the broker does not answer Metadata")
		}
	}
}
