// Command svc computes the nursing demand of a maternity unit. Its first argument is a role or a command. svc help
// lists them; svc help COMMAND describes one.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	_ "time/tzdata" // time zone database, for systems without one

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // certificate authorities, for systems without them

	admincommands "svc/internal/admin/commands"
	analysis "svc/internal/analysis/commands"
	"svc/internal/cli"
	"svc/internal/doctor"
	"svc/internal/lifecycle"
	"svc/internal/statefulset"
)

func main() {
	lifecycle.LimitMemory()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	code := run(ctx, os.Args[1:], env{
		LookupEnv: os.LookupEnv, Stdout: os.Stdout, Stderr: os.Stderr, Now: time.Now, Terminal: cli.IsTerminal(os.Stderr),
	})
	stop()
	os.Exit(code)
}

// tree returns the root command.
func tree(w env) *cobra.Command {
	root := cli.Root("svc", "svc: maternity acuity and staffing", release())
	cli.Section(root, "Everything in one process, on an embedded Kafka and Redis", devCommand(w))
	cli.Section(root, "Roles, on real servers",
		roleCommand("ingest", "receive feeds: POST /api/ingest/*", w),
		roleCommand("process", "compute verdicts from observations", w),
		roleCommand("read", "serve reads: GET /api/v1/*", w),
		roleCommand("notify", "send webhooks to partners and alerts to staff", w),
		runCommand(w))
	cli.Section(root, "Feeds and webhooks", cli.FeedCommands(w)...)
	cli.Section(root, "Administration",
		admincommands.HospitalsCommand(w),
		admincommands.KeysCommand(w),
		admincommands.AdminCommand(w),
		cli.TerminologyCommand(w),
		cli.WebhooksCommand(w),
		cli.AlertsCommand(w),
		admincommands.SecretsCommand(w),
		cli.DeadLettersCommand(w))
	cli.Section(root, "Operation", doctor.Command(w))
	cli.Section(root, "Log analysis",
		analysis.ExportCommand(w),
		analysis.ImportCommand(w),
		analysis.ReplayCommand(w),
		analysis.VerifyCommand(w, revision),
		analysis.BacktestCommand(w))
	root.AddCommand(statefulset.PreStopCommand(w), readyCommand(w))
	cli.About(root, w.Now)
	return root
}

// run executes one command and returns the exit code.
func run(ctx context.Context, args []string, w env) int {
	return cli.Run(ctx, tree(w), args, w) //nolint:contextcheck // commands get ctx from cobra
}

// release returns the version of this build.
func release() string {
	return fmt.Sprintf("svc %s, %s %s/%s", revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
