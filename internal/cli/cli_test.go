package cli

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// program returns a command line with the commands of this package.
func program(w Env) *cobra.Command {
	root := Root("svc", "svc: a test", "svc 1")
	Section(root, "Commands", sendCommand(w), simulateCommand(w), listenCommand(w), statusCommand(w),
		TerminologyCommand(w), WebhooksCommand(w), AlertsCommand(w), DeadLettersCommand(w), users(w))
	About(root, w.Now)
	return root
}

// run executes one command, and returns the exit code as [Run] does.
func run(ctx context.Context, args []string, w Env) int {
	path, err := execute(ctx, program(w), args, w)
	if err == nil {
		return 0
	}
	fmt.Fprintf(w.Stderr, "%s: %v\n", path, err)
	if _, wrong := err.(usageError); wrong { //nolint:errorlint // execute returns it unwrapped
		return 2
	}
	return 1
}

// say runs a command without an environment and returns its output.
func say(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, faults bytes.Buffer
	code = run(context.Background(), args, Env{LookupEnv: noEnvironment, Stdout: &out, Stderr: &faults, Now: time.Now})
	return code, out.String(), faults.String()
}

// noEnvironment is an environment without variables.
func noEnvironment(string) (string, bool) { return "", false }
