package devserver

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"svc/internal/cli"
)

// Options are the flags of svc dev.
type Options struct {
	LogLevel string // debug, info, warn or error

	data      string
	ephemeral bool
	repair    bool
	listen    string
	kafkaPort int
	demo      bool
	speed     float64 // of the demonstration
}

var logLevels = []string{"debug", "info", "warn", "error"}

// Command returns the command svc dev without what it runs. It sets o, and checks it before it
// runs.
func Command(o *Options) *cobra.Command {
	cmd := &cobra.Command{Use: "dev", Short: "run everything in one process, for a first look and for development"}
	flags := cmd.Flags()
	flags.StringVar(&o.data, "data", cli.DefaultData, "`folder` of the data and of dev.json")
	flags.BoolVar(&o.ephemeral, "ephemeral", false, "keep nothing but dev.json")
	flags.BoolVar(&o.repair, "repair", false, "go on without what of the embedded Kafka's files is damaged; a copy of it is kept")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`address` of the API, on this machine; port 0 takes a free one")
	flags.IntVar(&o.kafkaPort, "kafka-port", 0, "`port` of the embedded Kafka (default: a free one)")
	flags.BoolVar(&o.demo, "demo", false, "keep a made-up unit moving, with 28 days behind it")
	flags.Float64Var(&o.speed, "speed", 1, "how much faster than real time the unit of --demo goes on")
	flags.StringVar(&o.LogLevel, "log-level", "warn", "debug, info, warn or error")
	cmd.PreRunE = func(*cobra.Command, []string) error { return errors.Join(o.faults()...) }
	return cmd
}

// faults returns the faults of the options.
func (o *Options) faults() []error {
	faults := []error{loopback(o.listen)}
	if !slices.Contains(logLevels, o.LogLevel) {
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
		faults = append(faults, errors.New("--speed: needs --demo"))
	}
	return faults
}

// loopback refuses an address that other machines can reach: svc dev has a key in a file and no
// TLS.
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
