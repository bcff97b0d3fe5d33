package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"svc/internal/admin/audit"
	"svc/internal/admin/users"
	"svc/internal/cli"
	"svc/internal/httpapi/access"
	"svc/internal/stream"
	"svc/internal/view"
	"svc/notifier/sms"
	"svc/readapi/web"
)

// The hospital that svc dev makes in an empty folder.
const (
	devHospital     = "demo"
	devHospitalName = "Demo Maternity"
	devZone         = "America/Chicago"
	devPartitions   = 3
	devConnections  = 100 // over MLLP
)

// devOptions are the flags of svc dev.
type devOptions struct {
	data      string
	ephemeral bool
	repair    bool
	listen    string
	kafkaPort int
	logLevel  string
	demo      bool
	speed     float64 // of the demonstration
}

// runDev runs every role in one process on an embedded Kafka and an embedded Redis. An
// acknowledged record survives a crash of the process. There is no replication.
func runDev(ctx context.Context, o *devOptions, w env) error {
	ownersAlone()
	unlock, err := lockData(o.data)
	if err != nil {
		return err
	}
	defer unlock()
	collectLess()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("%s is in use or not ours; choose another with --listen", o.listen)
	}
	defer listener.Close() //nolint:errcheck // the server closes it too
	metrics, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for metrics: %w", err)
	}
	defer metrics.Close() //nolint:errcheck // the server closes it too
	hl7, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for MLLP: %w", err)
	}
	defer hl7.Close() //nolint:errcheck // the server closes it too
	pseudonyms, err := devSecret(o, devPseudonymKey)
	if err != nil {
		return err
	}
	secrets, err := devSecret(o, devSecretsKey)
	if err != nil {
		return err
	}
	log := newLog(w.Stderr, o.logLevel)
	kafka, err := o.embed(log)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is in use; choose another with --kafka-port", o.kafkaPort)
	} else if err != nil {
		return err
	}
	defer kafka.Close()
	redis, err := view.Embed()
	if err != nil {
		return err
	}
	defer redis.Close()

	address := "http://" + listener.Addr().String()
	caught := newOutbox(w.Now, address)
	h := newService(&config{
		PublicURL: address, Outbox: caught, SMS: smsConfig{Driver: sms.DriverHTTP, URL: address + outboxPath, Token: devSMSToken},
		Instance: "dev", Kafka: []string{kafka.Addr()}, KafkaFull: kafka.Full, Partitions: devPartitions,
		Redis: redis.URL(), Listen: o.listen, PrivateListen: metrics.Addr().String(),
		PseudonymKey: pseudonyms, SecretsKey: secrets, EgressLoopback: true, LogLevel: o.logLevel, ShutdownWithin: time.Second,
		MLLP: mllpConfig{
			Senders:     []mllpSender{{addr: hl7.Addr().String()}}, // uses the key that greet makes
			Connections: devConnections, PerPeer: devConnections, Idle: time.Hour,
		},
	}, log, w.Now)
	defer h.close()
	h.health.add("disk", func(context.Context) error { return kafka.Full() })
	private := h.private()
	private.listener = metrics
	return h.live(ctx, private, func(ctx context.Context) ([]func(context.Context) error, error) {
		if err := h.build(ctx, []string{"ingest", "notify", "process", "read"}); err != nil {
			return nil, err
		}
		h.mountDevHook()
		h.mountOutbox(caught)
		public, front := h.public(), h.mllpFronts[0]
		public.listener, front.listener = listener, hl7
		greeted := make(chan struct{})
		front.after = append(front.after, greeted)
		h.run("greeting", func(ctx context.Context) error {
			if err := h.greet(ctx, o, listener.Addr(), kafka.Addr(), redis.URL(), front, w); err != nil {
				return err
			}
			close(greeted)
			<-ctx.Done()
			return nil
		})
		if o.demo {
			if err := h.runDemo(o, greeted, w); err != nil {
				return nil, err
			}
		}
		return []func(context.Context) error{public.run, front.run}, nil
	})
}

// embed starts the embedded Kafka.
func (o *devOptions) embed(log *slog.Logger) (*stream.Broker, error) {
	options := stream.BrokerOptions{Port: o.kafkaPort, Repair: o.repair, Log: log}
	if !o.ephemeral {
		options.Dir = filepath.Join(o.data, "kafka")
	}
	return stream.Embed(options)
}

// runDemo keeps the unit of --demo moving once its hospital exists.
func (h *service) runDemo(o *devOptions, greeted <-chan struct{}, w env) error {
	d, err := newDemo(o, w)
	if err != nil {
		return err
	}
	h.run("demo", func(ctx context.Context) error {
		select {
		case <-greeted:
		case <-ctx.Done():
			return nil
		}
		running, err := cli.ReadDevFile(o.data)
		if err != nil {
			return err
		}
		return d.run(ctx, running.BaseURL, running.APIKey)
	})
	return nil
}

// devCommand is svc dev.
func devCommand(w env) *cobra.Command {
	o := &devOptions{}
	cmd := &cobra.Command{
		Use: "dev", Short: "run everything in one process, for a first look and for development",
		RunE: func(cmd *cobra.Command, _ []string) error { return runDev(cmd.Context(), o, w) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.data, "data", cli.DefaultData, "`folder` of the data and of dev.json")
	flags.BoolVar(&o.ephemeral, "ephemeral", false, "keep nothing but dev.json")
	flags.BoolVar(&o.repair, "repair", false, "go on without what of the embedded Kafka's files is damaged; a copy of it is kept")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`address` of the API, on this machine; port 0 takes a free one")
	flags.IntVar(&o.kafkaPort, "kafka-port", 0, "`port` of the embedded Kafka (default: a free one)")
	flags.BoolVar(&o.demo, "demo", false, "keep a made-up unit moving, with 28 days behind it")
	flags.Float64Var(&o.speed, "speed", 1, "how much faster than real time the unit of --demo goes on")
	flags.StringVar(&o.logLevel, "log-level", "warn", "debug, info, warn or error")
	cmd.PreRunE = func(*cobra.Command, []string) error { return errors.Join(o.faults()...) }
	return cmd
}

// faults returns the faults of the options.
func (o *devOptions) faults() []error {
	faults := []error{loopback(o.listen)}
	if !slices.Contains(logLevels, o.logLevel) {
		faults = append(faults, fmt.Errorf("--log-level: must be one of %s", strings.Join(logLevels, ", ")))
	}
	if o.data == "" {
		faults = append(faults, errors.New("--data: must be a folder"))
	}
	if o.kafkaPort < 0 || o.kafkaPort > 65535 {
		faults = append(faults, errors.New("--kafka-port: must be a number up to 65535"))
	}
	if !cli.ValidSpeed(o.speed) {
		faults = append(faults, errors.New("--speed: must be from 0.1 to 1440"))
	} else if o.speed != 1 && !o.demo {
		faults = append(faults, errors.New("--speed: is that of --demo"))
	}
	return faults
}

// loopback refuses an address that other machines can reach: svc dev has a key
// in a file and no TLS.
func loopback(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("--listen: must be host:port")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return errors.New("--listen: the port must be a number up to 65535")
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errors.New("--listen: svc dev serves this machine only; use 127.0.0.1, ::1 or localhost")
	}
	return nil
}

// lockData makes the folder and locks it for this process.
func lockData(dir string) (unlock func(), err error) {
	if err = os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the data folder %s: %w", dir, reason(err))
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	ours, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("cannot write in the data folder %s: %w", dir, reason(err))
	}
	if !ours {
		return nil, fmt.Errorf("another svc dev runs on %s; stop it, or choose another folder with --data", dir)
	}
	if err = writable(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write in the data folder %s: %w", dir, reason(err)), lock.Close())
	}
	return func() { lock.Close() }, nil //nolint:errcheck // the process ends, and with it the lock
}

// writable returns an error if no file can be stored in a folder. A lock alone does not show
// that.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, "try-*")
	if err != nil {
		return err //nolint:wrapcheck // the caller names the folder
	}
	_, err = f.Write(make([]byte, 1<<12))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}

// reason is the cause of a file error without its path, which the caller names.
func reason(err error) error {
	if fault := (*fs.PathError)(nil); errors.As(err, &fault) {
		return fault.Err
	}
	return err
}

// shownAgain is the pause after the view has not answered.
const shownAgain = 100 * time.Millisecond

// shown returns once the view has all partitions, or ctx ends. On a busy machine Redis may not
// answer for a while.
func (h *service) shown(ctx context.Context) error {
	models := h.models().Watermark()
	for {
		err := h.current(ctx)
		for partition := range h.partitions {
			err = errors.Join(err, models.Wait(ctx, partition, -1))
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		h.log.WarnContext(ctx, "the view is waited for longer", "error", err)
		if err := pause(ctx, shownAgain); err != nil {
			return err
		}
	}
}

// greet waits until a read can be answered, and makes the hospital and keys if they are missing.
// It writes dev.json and prints all addresses, with commands to paste.
func (h *service) greet(ctx context.Context, o *devOptions, address net.Addr, kafka, redis string, front *mllpFront, w env) error {
	for _, ready := range h.ready {
		select {
		case <-ready:
		case <-ctx.Done():
			return nil
		}
	}
	if err := h.shown(ctx); err != nil {
		return err
	}
	d, err := h.devKeys(ctx, o.data)
	if err != nil {
		return err
	}
	d.BaseURL, d.Kafka, d.Redis, d.MLLP = "http://"+address.String(), kafka, redis, front.address
	key, _ := h.settings.register.Lookup(d.APIKey)
	front.senders[0].key = key.ID
	if err = writeDevFile(o.data, d); err != nil {
		return fmt.Errorf("write %s: %w", cli.DevFilePath(o.data), reason(err))
	}
	_, token, err := h.office().MakeLink(ctx, audit.CommandLine, d.HospitalID, "svc dev", users.Charge, users.MostTTL)
	if err != nil {
		return fmt.Errorf("make a link: %w", err)
	}
	kept := "kept in " + o.data
	if o.ephemeral {
		kept = "kept nowhere (--ephemeral)"
	}
	_, err = fmt.Fprintf(w.Stdout, greeting, d.BaseURL, d.MLLP, d.BaseURL, d.BaseURL, h.config.PrivateListen, kafka, redis, kept, d.HospitalID, d.APIKey, d.AdminKey,
		cli.DevFilePath(o.data), d.BaseURL+web.LinkPath+token, d.BaseURL, d.APIKey)
	return err
}

const greeting = `svc is ready: maternity acuity and staffing, everything in this process.

  API       %s
  HL7 MLLP  %s    for interface engines and svc send, under the API key
  Webhooks  %s/dev/hook    a receiver that verifies, and its page
  Alerts    %s/dev/outbox    e-mail and SMS, caught
  Metrics   http://%s/metrics
  Kafka     %s    embedded, one broker, no replication: for development only
  Redis     %s    embedded
  Data      %s
  Hospital  %s
  API key   %s
  Admin key %s
  The same in %s

Look at the unit in a browser; the link signs in once, svc admin link makes another:

  %s

Try it, in another terminal:

  export SVC=%s KEY=%s

  curl -s $SVC/api/ingest/staffing -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \
    -d '{"nursesOnDuty": 6, "callStaffAvailable": true}'

  curl -s $SVC/api/ingest/clinical -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \
    -d '{"roomId": 4, "roomLabel": "LDR 4", "signals": [{"kind": "medication", "system": "RxNorm", "code": "6585", "display": "magnesium sulfate", "status": "active"}]}'

  curl -s $SVC/api/v1/level -H "Authorization: Bearer $KEY"
  curl -s $SVC/api/v1/unit-state -H "Authorization: Bearer $KEY"

Ctrl-C stops it.
`

// devKeys returns the content of dev.json if its keys are still valid. Else it makes the hospital
// and new keys.
func (h *service) devKeys(ctx context.Context, data string) (*cli.DevFile, error) {
	register := h.settings.register
	if _, known := register.Hospital(devHospital); !known {
		hospital := access.Hospital{ID: devHospital, Name: devHospitalName, Zone: devZone, CreatedAt: h.now().UTC().Truncate(time.Millisecond)}
		if err := h.settings.putHospital(ctx, math.MaxInt64, &hospital); err != nil {
			return nil, fmt.Errorf("make the hospital: %w", err)
		}
	}
	d := &cli.DevFile{HospitalID: devHospital}
	if before, err := cli.ReadDevFile(data); err == nil {
		d.APIKey, d.AdminKey = before.APIKey, before.AdminKey
	}
	var made []*access.Key
	for _, k := range []struct {
		token  *string
		name   string
		scopes []access.Scope
	}{
		{&d.APIKey, "svc dev, every scope", access.Scopes()},
		{&d.AdminKey, "svc dev, administrator", []access.Scope{access.Admin}},
	} {
		if _, valid := register.Lookup(*k.token); valid {
			continue
		}
		key, token := access.Mint(access.Key{Hospital: devHospital, Name: k.name, Scopes: k.scopes}, h.now())
		made = append(made, &key)
		*k.token = token
	}
	if len(made) > 0 {
		if err := h.settings.putKeys(ctx, math.MaxInt64, made...); err != nil {
			return nil, fmt.Errorf("make keys: %w", err)
		}
	}
	return d, nil
}
