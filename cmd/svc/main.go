// Command svc is the maternity acuity and staffing service. Its first argument
// is a role or a verb:
//
//	svc dev                       everything in one process, for a first look and for development
//	svc ingest|process|read|notify   one role, for real servers
//	svc run ROLE,ROLE…            several roles in one process, all without a list
//	svc send FILE…                plays files of HL7 v2 or FHIR into a server
//	svc simulate                  makes up the feeds of a unit: as lines, or into a server
//	svc listen                    prints incoming webhooks and verifies them
//	svc status                    tells how the feeds of a hospital are doing
//	svc keys …, hospitals …, terminology …, webhooks …, alerts …, dead-letters …   administration
//	svc export, import, replay, verify, backtest   the log, for analysts
//
// `svc help` lists them, `svc ROLE --help` the options of one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // the zones of hospitals, also where the system has none

	_ "golang.org/x/crypto/x509roots/fallback" // the authorities of certificates, where the system has none

	"svc/internal/stream"
)

func main() {
	limitMemory(os.LookupEnv, os.DirFS("/"))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], world{
		env: os.LookupEnv, stdout: os.Stdout, stderr: os.Stderr, now: time.Now, own: true,
	})
	stop()
	os.Exit(code)
}

// world is what the process has from outside; a test passes its own.
type world struct {
	env            func(string) (string, bool)
	stdout, stderr io.Writer
	now            func() time.Time
	own            bool // the process is nothing but this command, and may run it in another one
}

// exitCode says that another process has run the command, told of it, and ended so.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("ended with code %d", int(c)) }

// command is one verb of the command line.
type command struct {
	name        string // "": a gap
	usage, help string
	run         func(ctx context.Context, args []string, w world) error
}

// commands are all verbs, as `svc help` lists them.
func commands() []command {
	return []command{
		{"dev", "dev [flags]", "run everything in one process on an embedded Kafka and Redis", runDev},
		{},
		{"ingest", "ingest [flags]", "take in feeds: POST /api/ingest/*", roleCommand("ingest")},
		{"process", "process [flags]", "turn observations into verdicts", roleCommand("process")},
		{"read", "read [flags]", "answer reads: GET /api/v1/*", roleCommand("read")},
		{"notify", "notify [flags]", "tell partners and people: webhooks and alerts", roleCommand("notify")},
		{"run", "run ROLE,ROLE… [flags]", "run several roles in one process", runRoles},
		{},
		{"send", "send FILE… [flags]", "play files of HL7 v2 or FHIR into a server", runSend},
		{"simulate", "simulate [flags]", "make up the feeds of a unit: as lines, or into a server", runSimulate},
		{"listen", "listen [flags]", "print incoming webhooks and verify them", runListen},
		{"status", "status [SOURCE] [flags]", "tell how the feeds of a hospital are doing, or what one sent wrong", runStatus},
		{},
		{"hospitals", "hospitals create|list [flags]", "administer hospitals", runHospitals},
		{"keys", "keys mint|list|revoke|rotate [flags]", "administer API keys", runKeys},
		{"terminology", "terminology import|export|list|worklist", "administer what a hospital's codes mean", runTerminology},
		{"webhooks", "webhooks list|add|show|set|…", "administer webhooks and what was delivered to them", runWebhooks},
		{"alerts", "alerts tiers|recipients|add|test|…", "administer who is alerted, by which channel", runAlerts},
		{"secrets", "secrets status|reseal [flags]", "change the key that seals secrets and addresses", runSecrets},
		{"dead-letters", "dead-letters list|show|retry [ID]", "administer records that could not be applied", runDeadLetters},
		{},
		{"export", "export --topic T -o DIR [flags]", "write the log as Parquet, NDJSON or CSV", runExport},
		{"import", "import DIR [flags]", "write exported observations into an empty system", runImport},
		{"replay", "replay --hospital H [--rules FILE] [flags]", "make the verdicts anew from the log", runReplay},
		{"verify", "verify [--hospital H] [flags]", "hold what was written and is served against the log", runVerify},
		{"backtest", "backtest --hospital H --out DIR [flags]", "measure the forecast on what was recorded", runBacktest},
		{},
		{"version", "version", "tell which build this is", runVersion},
	}
}

// run executes one command and returns the exit code: 0 done, 1 it went wrong,
// 2 the command line or the configuration is wrong and nothing was started.
func run(ctx context.Context, args []string, w world) int {
	all := commands()
	if len(args) == 0 || isHelp(args[0]) {
		printCommands(w.stdout, all)
		return 0
	}
	known := slices.IndexFunc(all, func(c command) bool { return c.name == args[0] && c.name != "" })
	if known < 0 {
		fmt.Fprintf(w.stderr, "svc: no command %q; svc help lists them\n", args[0])
		return 2
	}
	err := all[known].run(ctx, args[1:], w)
	var wrong usageError
	var elsewhere exitCode
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case ctx.Err() != nil && errors.Is(err, stream.ErrAway): // stopped while it still waited for Kafka
		return 0
	case errors.As(err, &elsewhere):
		return int(elsewhere)
	case errors.As(err, &wrong):
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(w.stderr, "svc %s: %s\n", args[0], strings.TrimSuffix(line, "\n"))
		}
		return 2
	default:
		fmt.Fprintf(w.stderr, "svc %s: %v\n", args[0], err)
		return 1
	}
}

func isHelp(arg string) bool {
	return slices.Contains([]string{"help", "-h", "-help", "--help"}, arg)
}

func printCommands(out io.Writer, all []command) {
	fmt.Fprint(out, "svc: maternity acuity and staffing\n\n")
	for _, c := range all {
		if c.name == "" {
			fmt.Fprintln(out)
			continue
		}
		fmt.Fprintf(out, "  svc %-40s %s\n", c.usage, c.help)
	}
	fmt.Fprint(out, "\nsvc COMMAND --help lists the flags of a command.\n")
}
