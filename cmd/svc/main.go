// Command svc is the maternity acuity and staffing service. Its first argument
// is a role or a command; svc help lists them, svc help COMMAND tells more of one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // the zones of hospitals, also where the system has none

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // the authorities of certificates, where the system has none

	"svc/internal/cli"
)

func main() {
	limitMemory(os.LookupEnv, os.DirFS("/"))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // who asks twice does not want to wait
	code := run(ctx, os.Args[1:], world{
		Env: os.LookupEnv, Stdout: os.Stdout, Stderr: os.Stderr, Now: time.Now, Own: true,
	})
	stop()
	os.Exit(code)
}

type world = cli.World

// exitCode says that another process has run the command, told of it, and ended so.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("ended with code %d", int(c)) }

// tree is the command line.
func tree(w world) *cobra.Command {
	root := cli.Root("svc", "svc: maternity acuity and staffing", release())
	cli.Section(root, "Everything in one process, on an embedded Kafka and Redis", devCommand(w))
	cli.Section(root, "Roles, on real servers",
		roleCommand("ingest", "take in feeds: POST /api/ingest/*", w),
		roleCommand("process", "turn observations into verdicts", w),
		roleCommand("read", "answer reads: GET /api/v1/*", w),
		roleCommand("notify", "tell partners and people: webhooks and alerts", w),
		runCommand(w))
	cli.Section(root, "Feeds and webhooks",
		legacy("send FILE…", "play files of HL7 v2 or FHIR into a server", runSend, w),
		legacy("simulate", "make up the feeds of a unit: as lines, or into a server", runSimulate, w),
		legacy("listen", "print incoming webhooks and verify them", runListen, w),
		legacy("status [SOURCE]", "tell how the feeds of a hospital are doing, or what one sent wrong", runStatus, w))
	cli.Section(root, "Administration",
		legacy("hospitals", "administer hospitals", runHospitals, w),
		legacy("keys", "administer API keys", runKeys, w),
		legacy("terminology", "administer what a hospital's codes mean", runTerminology, w),
		legacy("webhooks", "administer webhooks and what was delivered to them", runWebhooks, w),
		legacy("alerts", "administer who is alerted, by which channel", runAlerts, w),
		legacy("secrets", "change the key that seals secrets and addresses", runSecrets, w),
		legacy("dead-letters", "administer records that could not be applied", runDeadLetters, w))
	cli.Section(root, "The log, for analysts",
		legacy("export", "write the log as Parquet, NDJSON or CSV", runExport, w),
		legacy("import", "write exported observations into an empty system", runImport, w),
		legacy("replay", "make the verdicts anew from the log", runReplay, w),
		legacy("verify", "hold what was written and is served against the log", runVerify, w),
		legacy("backtest", "measure the forecast on what was recorded", runBacktest, w))
	root.AddCommand(preStopCommand(w))
	cli.About(root, w.Now)
	return root
}

func legacy(use, short string, do func(context.Context, []string, world) error, w world) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error { return do(c.Context(), args, w) },
	}
}

// run executes one command and returns the exit code: 0 done, 1 it went wrong,
// 2 the command line or the configuration is wrong and nothing was started.
func run(ctx context.Context, args []string, w world) int {
	path, err := cli.Execute(ctx, tree(w), args, w) //nolint:contextcheck // a command has its context when it runs
	var wrong cli.UsageError
	var elsewhere exitCode
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &elsewhere):
		return int(elsewhere)
	case errors.As(err, &wrong):
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(w.Stderr, "%s: %s\n", path, strings.TrimSuffix(line, "\n"))
		}
		return 2
	default:
		fmt.Fprintf(w.Stderr, "%s: %v\n", path, err)
		return 1
	}
}
