package stream

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestSilentBroker: after a timeout, a broker is refused while another broker responds, until the connection that
// waits for it gets a response.
func TestSilentBroker(t *testing.T) { synctest.Test(t, testSilentBroker) }

func testSilentBroker(t *testing.T) {
	const paused, other = "10.0.0.1:9092", "10.0.0.2:9092"
	dialed := make(chan net.Conn, 10) // the brokers' ends of the connections
	said := make(spoken, 10)
	s := newSilentBrokers(time.Minute, slog.New(slog.NewTextHandler(said, nil)), func(context.Context, string, string) (net.Conn, error) {
		client, broker := net.Pipe()
		dialed <- broker
		return client, nil
	})
	defer s.close()
	dial := func(address string) error {
		conn, err := s.connect(t.Context(), "tcp", address)
		if err == nil {
			conn.Close()
			<-dialed
		}
		return err
	}
	read := func(address string, key kmsg.Key, waited time.Duration, err error) {
		host, _, fault := net.SplitHostPort(address)
		if fault != nil {
			t.Fatal(fault)
		}
		s.OnBrokerRead(kgo.BrokerMetadata{Host: host, Port: 9092}, key.Int16(), 0, waited, 0, err)
	}
	for name, event := range map[string]func(){
		"a closed client":     func() { read(paused, kmsg.Metadata, time.Millisecond, os.ErrDeadlineExceeded) },
		"a long poll":         func() { read(paused, kmsg.Fetch, time.Hour, os.ErrDeadlineExceeded) },
		"a lost connection":   func() { read(paused, kmsg.Metadata, time.Hour, io.EOF) },
		"a response, at last": func() { read(paused, kmsg.Metadata, time.Hour, nil) },
	} {
		if event(); dial(paused) != nil {
			t.Errorf("the broker is refused after %s", name)
		}
	}

	read(paused, kmsg.Produce, time.Minute, os.ErrDeadlineExceeded)
	select {
	case got := <-said:
		t.Errorf("logged although the broker has just responded: %s", got)
	default:
	}
	time.Sleep(time.Minute) // virtual time
	read(paused, kmsg.Produce, time.Minute, os.ErrDeadlineExceeded)
	if got := <-said; !strings.Contains(got, "kafka broker does not respond") {
		t.Error(got)
	}
	waiting := <-dialed
	request := make([]byte, 8)
	if _, err := io.ReadFull(waiting, request); err != nil || request[5] != byte(kmsg.ApiVersions) {
		t.Fatalf("request % x: %v", request, err)
	}
	if err := dial(paused); err != nil {
		t.Errorf("the broker is refused although no other broker has responded since: %v", err)
	}
	read(other, kmsg.Metadata, 0, nil)
	err := dial(paused)
	if op, is := errors.AsType[*net.OpError](err); !is || op.Op != "dial" || op.Timeout() || !errors.Is(err, errSilent) {
		t.Errorf("the broker is not refused like a closed port: %v", err)
	}
	if err := dial(other); err != nil {
		t.Error(err)
	}

	go io.Copy(io.Discard, waiting) //nolint:errcheck // the rest of the request
	if _, err := waiting.Write(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	if got := <-said; !strings.Contains(got, "kafka broker responds again") {
		t.Error(got)
	}
	if err := dial(paused); err != nil {
		t.Error(err)
	}
}

// TestBrokersOfOneAddress: several brokers may share an address, and only one of them may be silent.
func TestBrokersOfOneAddress(t *testing.T) {
	const shared = "kafka:9092"
	dialed := make(chan net.Conn)
	said := make(spoken, 10)
	s := newSilentBrokers(time.Millisecond, slog.New(slog.NewTextHandler(said, nil)), func(context.Context, string, string) (net.Conn, error) {
		client, broker := net.Pipe()
		dialed <- broker
		return client, nil
	})
	defer s.close()
	s.recordTimeout(shared, time.Second)
	<-said
	<-dialed // the silent broker
	for {
		select {
		case responsive := <-dialed:
			go io.Copy(io.Discard, responsive)   //nolint:errcheck // the request
			go responsive.Write(make([]byte, 4)) //nolint:errcheck // the connection may time out before
		case got := <-said:
			if !strings.Contains(got, "kafka broker responds again") {
				t.Error(got)
			}
			return
		}
	}
}

// TestSilentBrokerDies: a broker that refuses connections by itself is no longer silent.
func TestSilentBrokerDies(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	tries := make(chan error)
	s := newSilentBrokers(time.Second, slog.New(slog.DiscardHandler), func(context.Context, string, string) (net.Conn, error) {
		return nil, <-tries
	})
	defer s.close()
	s.recordTimeout("10.0.0.1:9092", time.Second)
	s.recordResponse("10.0.0.2:9092")
	for range 3 { // the machine is unreachable
		tries <- os.ErrDeadlineExceeded
	}
	if !s.isRefused("10.0.0.1:9092") {
		t.Error("the broker is not refused although its machine is unreachable")
	}
	tries <- refused
	for s.isRefused("10.0.0.1:9092") {
		select {
		case <-t.Context().Done():
			t.Fatal("the broker is refused forever")
		default:
		}
	}
}

// spoken is a writer that passes on each line.
type spoken chan string

func (l spoken) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}
