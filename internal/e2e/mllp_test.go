package e2e

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/acuity"
	"svc/ingest/mllp"
)

// arrival returns an A01 message that begins the n-th visit.
func arrival(n int, at time.Time) string {
	return strings.Join([]string{
		fmt.Sprintf(`MSH|^~\&|EPIC|MERCY|SVC|MERCY|%s||ADT^A01^ADT_A01|M%d|P|2.5.1`, at.Format("20060102150405-0700"), n),
		fmt.Sprintf(`EVN|A01|%s`, at.Format("20060102150405-0700")),
		fmt.Sprintf(`PID|1||MRN%d^^^MERCY^MR`, n),
		fmt.Sprintf(`PV1|1|I|L&D^LDR %d^01|L|||||||||||||||VN%d`, n%40, n),
		`DG1|1||O14.13^Severe pre-eclampsia^I10||` + at.Format("20060102150405-0700") + `|W`,
	}, "\r") + "\r"
}

// engine is an interface engine with one connection. It retries each message until the server acknowledges the
// message, and reconnects after each failure.
type engine struct {
	address func() string // address of the server, which may change after a restart
	secured *tls.Config   // nil: plain TCP
	conn    net.Conn
	in      *mllp.Reader
	again   int // number of messages that were sent more than once
}

// send sends a message until it is acknowledged, and returns MSA-1 of the acknowledgment.
func (e *engine) send(message string) (string, error) {
	var fault error
	for giveUp, tries := time.Now().Add(2*time.Minute), 0; time.Now().Before(giveUp); tries++ {
		if tries == 1 {
			e.again++
		}
		var code string
		if code, fault = e.try(message); fault == nil {
			return code, nil
		}
		e.close()
		time.Sleep(20 * time.Millisecond) // an engine's pause before it retries
	}
	return "", fmt.Errorf("not acknowledged in two minutes: %w", fault)
}

func (e *engine) try(message string) (code string, err error) {
	if e.conn == nil {
		if e.conn, err = net.DialTimeout("tcp", e.address(), 5*time.Second); err != nil {
			e.conn = nil
			return "", err
		}
		if e.secured != nil {
			e.conn = tls.Client(e.conn, e.secured)
		}
		e.in = mllp.NewReader(e.conn, 1<<20)
	}
	if err = e.conn.SetDeadline(time.Now().Add(15 * time.Second)); err != nil {
		return "", err
	}
	if _, err = e.conn.Write(mllp.Append(nil, []byte(message))); err != nil {
		return "", err
	}
	ack, err := e.in.Next()
	if err != nil {
		return "", err
	}
	_, msa, ok := strings.Cut(string(ack), "\rMSA|")
	header, _, _ := strings.Cut(message, "\r")
	control := ""
	if fields := strings.Split(header, "|"); len(fields) > 9 {
		control = fields[9]
	}
	if code, msa, _ = strings.Cut(msa, "|"); !ok || !strings.HasPrefix(msa, control+"\r") {
		return "", fmt.Errorf("answer %q to %s", ack, header)
	}
	return code, nil
}

func (e *engine) close() {
	if e.conn != nil {
		e.conn.Close()
		e.conn = nil
	}
}

// TestKillUnderMLLP kills the server while 1,000 messages are sent over 50 connections. Each
// message is acknowledged AA and applied once.
func TestKillUnderMLLP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir)
	port := d.BaseURL[len("http://"):]
	var mu sync.Mutex
	address := d.MLLP
	killUnderMLLP(t, d.HospitalID, func() string {
		mu.Lock()
		defer mu.Unlock()
		return address
	}, func() {
		d.kill()
		next := restartDev(t, dir, port)
		mu.Lock()
		defer mu.Unlock()
		d, address = next, next.MLLP
	}, func() *systemLog { return readApplied(t, d.Kafka, "") })
}

func TestKillUnderMLLPOnServers(t *testing.T) {
	t.Parallel()
	s := startSystem(t, "north")
	s.processor("p1")
	ingest, address := s.mllp()
	killUnderMLLP(t, "north", func() string { return address }, func() {
		ingest.kill()
		ingest = s.mllpAt("north", address)
	}, func() *systemLog { return readApplied(t, s.kafka.address, s.prefix) })
	readSettled(t, s.partners, s.kafka.address, s.prefix).refold(t, s.partners[0])
}

// mllp starts a svc ingest whose MLLP listener accepts every sender and uses a key of the hospital north.
func (s *system) mllp() (n *node, address string) {
	s.t.Helper()
	address = "127.0.0.1:" + mustFreePort(s.t)
	return s.mllpAt("north", address), address
}

func (s *system) mllpAt(hospital, address string, args ...string) *node {
	s.t.Helper()
	private := "127.0.0.1:" + mustFreePort(s.t)
	n := start(s.t, "mllp", append([]string{
		"ingest", "--listen", "127.0.0.1:0", "--private-listen", private,
		"--mllp", "addr=" + address + ",key=" + s.keyID(hospital),
	}, args...), s.env...)
	n.await("http://" + private + "/readyz")
	return n
}

// keyID returns the id of the first key of a hospital.
func (s *system) keyID(hospital string) string {
	s.t.Helper()
	listed := items[struct{ ID string }](s.t, cli(s.t, s.env, "keys", "list", "--hospital", hospital, "--json"))
	if len(listed) == 0 {
		s.t.Fatal("no key")
	}
	return listed[0].ID
}

// killUnderMLLP sends messages over many connections and calls kill once a quarter of them is acknowledged. In the
// log that readApplied returns, each message must be applied exactly once, although the log contains repeated
// messages. An MLLP acknowledgment means only that the message is in the log, not that the verdict contains it.
func killUnderMLLP(t *testing.T, hospital string, address func() string, kill func(), readApplied func() *systemLog) {
	t.Helper()
	const connections, each = 50, 20
	at := time.Now().Add(-time.Hour)
	var all sync.WaitGroup
	answers := make(chan string, connections*each)
	engines := make([]*engine, connections)
	for i := range engines {
		e := &engine{address: address}
		engines[i] = e
		all.Go(func() {
			for n := range each {
				code, err := e.send(arrival(i*each+n, at.Add(time.Duration(n)*time.Minute)))
				if err != nil {
					t.Error(err)
					return
				}
				answers <- code
			}
		})
	}
	for range connections * each / 4 {
		<-answers
	}
	kill()
	all.Wait()
	close(answers)
	for code := range answers {
		if code != "AA" {
			t.Errorf("answered %s", code)
		}
	}
	again := 0
	for _, e := range engines {
		again += e.again
	}
	// A message that is sent again must get the same acknowledgment.
	for n := range 10 {
		if code, err := engines[0].send(arrival(n, at.Add(time.Duration(n)*time.Minute))); err != nil || code != "AA" {
			t.Errorf("sent again: %s %v", code, err)
		}
	}
	for _, e := range engines {
		e.close()
	}
	log := readApplied()
	applied, duplicates := map[string]int{}, 0
	for _, c := range log.changes[hospital] {
		if c.Cause != acuity.CauseIngest {
			continue
		}
		o := log.observations[position{c.partition, c.Offset}]
		if o == nil {
			t.Fatalf("no observation at %d:%d", c.partition, c.Offset)
		}
		if c.Outcome == acuity.Duplicate {
			duplicates++
			continue
		}
		for i := range o.Events {
			applied[o.Events[i].Visit]++
		}
	}
	if len(applied) != connections*each {
		t.Errorf("%d visits in the state, want %d", len(applied), connections*each)
	}
	for visit, n := range applied {
		if n != 1 {
			t.Errorf("visit %s was applied %d times", visit, n)
		}
	}
	if again == 0 || duplicates < 10 {
		t.Errorf("%d messages sent again, %d duplicates: the test kills nothing", again, duplicates)
	}
	t.Logf("%d messages sent again after the kill, %d duplicates in the log", again, duplicates)
}

// TestMLLPRevoked revokes the key of an open connection. Within three seconds, svc must close the connection instead
// of answering the next message. svc must close later connections without an answer, too.
func TestMLLPRevoked(t *testing.T) {
	dir := t.TempDir()
	d := startDev(t, dir)
	e := &engine{address: func() string { return d.MLLP }}
	defer e.close()
	if code, err := e.send(arrival(1, time.Now())); err != nil || code != "AA" {
		t.Fatal(code, err)
	}
	for _, k := range items[struct {
		ID     string
		Scopes []string
	}](t, cli(t, nil, "keys", "list", "--data", dir, "--json")) {
		if slices.Contains(k.Scopes, "ingest:hl7") {
			cli(t, nil, "keys", "revoke", "--data", dir, k.ID)
		}
	}
	eventually(t, 3*time.Second, func() error {
		if _, err := e.try(arrival(2, time.Now())); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.Join(errors.New("it is answered, or ends otherwise"), err)
		}
		return nil
	})
	e.close()
	conn, err := net.Dial("tcp", d.MLLP)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second)) //nolint:errcheck // a deadline fails only on a closed connection
	if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 {
		t.Errorf("a sender with a revoked key is let in: %q %v", rest, err)
	}
	d.wantsLine(t, `"ended":"sender_refused"`)
}

// TestMLLPPeers connects peers that never end a message, send it too slowly, or stop in the middle of it. svc must
// close their connections. Meanwhile, svc must answer the peers that send valid messages.
func TestMLLPPeers(t *testing.T) {
	t.Parallel() // the test waits until svc closes silent connections
	d := startDev(t, t.TempDir(), "--ephemeral")
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", d.MLLP)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // a deadline fails only on a closed connection
		return conn
	}
	say := func(conn net.Conn, text string) {
		if _, err := io.WriteString(conn, text); err != nil {
			t.Error(err)
		}
	}
	closed := func(name string, conn net.Conn) {
		rest, err := io.ReadAll(conn)
		if len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %q %v, want a closed connection", name, rest, err)
		}
	}
	var all sync.WaitGroup
	all.Go(func() { // sends a message that never ends
		conn := dial()
		say(conn, "\x0bMSH|")
		for chunk := []byte(strings.Repeat("x", 64<<10)); ; {
			if _, err := conn.Write(chunk); err != nil {
				break
			}
		}
		closed("endless", conn)
	})
	if os.Getenv("SVC_E2E") != "" { // takes the 30 s that svc allows for a message
		all.Go(func() { // sends one byte at a time
			conn, watch := dial(), startWatch()
			say(conn, "\x0bMSH|")
			for tick := time.Tick(100 * time.Millisecond); ; <-tick {
				if _, err := conn.Write([]byte("x")); err != nil {
					break
				}
			}
			closed("slow", conn)
			if took := watch.elapsed(); took > 40*time.Second {
				t.Errorf("the slow one was let in for %v", took)
			}
		})
		all.Go(func() { // begins a message, and then sends nothing
			conn := dial()
			say(conn, "\x0bMSH|")
			closed("half open", conn)
		})
	}
	all.Go(func() { // closes its sending side: its messages are still accepted and answered
		conn := dial()
		say(conn, "\x0b"+arrival(1, time.Now())+"\x1c\r")
		conn.(*net.TCPConn).CloseWrite() //nolint:errcheck,forcetypeassert // a TCP connection; the answer shows the effect
		if answer, err := bufio.NewReader(conn).ReadString(0x1c); err != nil || !strings.Contains(answer, "\rMSA|AA|M1\r") {
			t.Errorf("half closed: %q %v", answer, err)
		}
	})
	all.Go(func() { // sends many messages before the first answer; the answers come in order
		conn := dial()
		var ahead strings.Builder
		for n := range 100 {
			ahead.WriteString("\x0b" + arrival(100+n, time.Now()) + "\x1c\r")
		}
		say(conn, ahead.String())
		in := mllp.NewReader(conn, 1<<20)
		for n := range 100 {
			if ack, err := in.Next(); err != nil || !strings.Contains(string(ack), fmt.Sprintf("\rMSA|AA|M%d\r", 100+n)) {
				t.Errorf("answer %d is %q, %v", n, ack, err)
				return
			}
		}
	})
	e := &engine{address: func() string { return d.MLLP }}
	defer e.close()
	for n := range 100 {
		if code, err := e.send(arrival(1000+n, time.Now())); err != nil || code != "AA" {
			t.Fatal(code, err)
		}
	}
	all.Wait()
	d.wantsLine(t, `"ended":"message_too_long"`)
	if strings.Contains(d.logged(), "xxxx") {
		t.Error("the log says what a message held")
	}
}

// wantsLine waits until the log contains a line.
func (n *node) wantsLine(t testing.TB, text string) {
	t.Helper()
	select {
	case <-n.says(text):
	case <-after(10 * time.Second):
		t.Errorf("%s is not in the log", text)
	}
}
