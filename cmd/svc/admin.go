package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/internal/keys"
	"svc/internal/stream"
	"svc/schemas"
)

// admin is what an administrative command has: its flags, those of the Kafka it
// works on, and where to print.
type admin struct {
	world
	command string
	flags   *flag.FlagSet
	json    bool
	data    string
	config  *config
	needs   need  // of further options of the configuration
	nowhere error // no Kafka is named; told with the other faults of the command line
}

// adminWithin bounds one administrative command.
const adminWithin = 20 * time.Second

func newAdmin(command string, w world) *admin {
	a := &admin{world: w, command: command, flags: flag.NewFlagSet("svc "+command, flag.ContinueOnError)}
	a.flags.SetOutput(io.Discard)
	a.flags.BoolVar(&a.json, "json", false, "print JSON")
	a.flags.StringVar(&a.data, "data", defaultData, "data folder of the running svc dev to work on, if no Kafka is named")
	return a
}

// parse reads the flags of the command and those of the configuration.
func (a *admin) parse(args []string) error {
	var own, rest []string
	for i := 0; i < len(args); i++ {
		name, _, inline := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		into := &own
		if slices.ContainsFunc(options, func(o option) bool { return a.knows(&o) && o.name == name }) {
			into = &rest
		}
		*into = append(*into, args[i])
		if isBool := name == "h" || name == "help" || a.isSwitch(name); !inline && !isBool && strings.HasPrefix(args[i], "-") && i+1 < len(args) {
			i++
			*into = append(*into, args[i])
		}
	}
	if err := a.flags.Parse(own); errors.Is(err, flag.ErrHelp) {
		a.help()
		return err
	} else if err != nil {
		return usageError(err)
	}
	if a.flags.NArg() > 0 {
		return usageError(fmt.Errorf("unexpected argument %q", a.flags.Arg(0)))
	}
	c, err := parseConfig(a.command, a.needs, rest, a.Env, a.Stdout)
	if err != nil {
		return err
	}
	a.config = c
	_, fromEnv := a.Env("SVC_KAFKA")
	if fromEnv || slices.ContainsFunc(rest, func(s string) bool { return strings.HasPrefix(strings.TrimLeft(s, "-"), "kafka") }) {
		return nil
	}
	running, err := runningDev(a.data, func(d *devFile) string { return d.Kafka })
	if err != nil {
		a.nowhere = fmt.Errorf("name a Kafka by --kafka or SVC_KAFKA, or start svc dev (%w)", err)
		return nil
	}
	c.Kafka, c.Redis = []string{running.Kafka}, running.Redis
	if a.needs&needSecrets != 0 && c.SecretsKey == "" {
		key, err := readDevKey(a.data, devSecretsKey)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // with --ephemeral there is none
			return err
		}
		c.SecretsKey = key
	}
	return nil
}

// knows reports whether an option of the configuration is one of the command.
func (a *admin) knows(o *option) bool { return o.only == 0 || a.needs&o.only != 0 }

// isSwitch reports whether a flag of the command stands alone.
func (a *admin) isSwitch(name string) bool {
	f := a.flags.Lookup(name)
	if f == nil {
		return false
	}
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// help prints the flags of the command, then those of the Kafka it works on.
func (a *admin) help() {
	fmt.Fprintf(a.Stdout, "usage: %s [flags]\n\n", a.flags.Name())
	a.flags.SetOutput(a.Stdout)
	a.flags.PrintDefaults()
	fmt.Fprint(a.Stdout, "\nServers other than svc dev, by flag or by the variable beside it:\n\n")
	for _, o := range options {
		if a.knows(&o) {
			fmt.Fprintf(a.Stdout, "  --%s  %s\n        %s\n", o.name, o.variable(), o.help)
		}
	}
}

// connected runs do with the settings read whole.
func (a *admin) connected(ctx context.Context, do func(context.Context, *settings, *keys.Ring) error) error {
	ctx, cancel := context.WithTimeout(ctx, adminWithin)
	defer cancel()
	log := slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	cluster, err := stream.Dial(ctx, a.config.kafka(log))
	if err != nil {
		return err
	}
	defer cluster.Close()
	if err = cluster.Ensure(ctx, topics(a.config.TopicPrefix, 0, schemas.Settings(), schemas.Audit())...); err != nil {
		return err
	}
	seals, err := a.config.seals()
	if err != nil {
		return err
	}
	s := followSettings(cluster, a.config.TopicPrefix, seals, a.Now, log)
	follow, stop := context.WithCancel(ctx)
	g, run := errgroup.WithContext(follow)
	g.Go(func() error { return s.table.Run(run) })
	g.Go(func() error {
		defer stop()
		select {
		case <-s.table.Ready():
			return do(run, s, s.ring(openAudit(cluster, a.config.TopicPrefix), a.Now))
		case <-run.Done():
			return fmt.Errorf("read the settings: %w", context.Cause(run))
		}
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// devFile is what svc dev tells other programs about itself, in DIR/dev.json.
type devFile struct {
	BaseURL    string `json:"baseUrl"`
	HospitalID string `json:"hospitalId"`
	APIKey     string `json:"apiKey"`
	AdminKey   string `json:"adminKey"`
	Kafka      string `json:"kafka"`
	Redis      string `json:"redis"`
	MLLP       string `json:"mllp"`
}

func devFilePath(data string) string { return filepath.Join(data, "dev.json") }

func readDevFile(data string) (*devFile, error) {
	content, err := os.ReadFile(devFilePath(data))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there", devFilePath(data))
	} else if err != nil {
		return nil, err
	}
	var d devFile
	if err := json.Unmarshal(content, &d); err != nil {
		return nil, fmt.Errorf("read %s: %w", devFilePath(data), err)
	}
	return &d, nil
}

// answerWithin is how long a svc dev, which is on this machine, has to take a connection.
const answerWithin = 2 * time.Second

// runningDev reads the dev.json of a svc dev that takes connections at one of its
// addresses, host:port: the file stays when svc dev ends.
func runningDev(data string, address func(*devFile) string) (*devFile, error) {
	d, err := readDevFile(data)
	if err != nil {
		return nil, err
	}
	conn, err := net.DialTimeout("tcp", address(d), answerWithin) //nolint:noctx // it has its own limit
	if err != nil {
		return nil, fmt.Errorf("the one of %s does not run", devFilePath(data))
	}
	return d, conn.Close()
}

func (d *devFile) api() string { return strings.TrimPrefix(d.BaseURL, "http://") }

func writeDevFile(data string, d *devFile) error {
	content, err := json.MarshalIndent(d, "", "  ") //nolint:gosec // keys of this machine only, in a file of its user
	if err != nil {
		return err
	}
	return writeWhole(devFilePath(data), append(content, '\n'))
}
