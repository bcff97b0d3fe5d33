package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// helpWidth is the width of the help, in characters.
const helpWidth = 100

// printHelp prints the purpose of a command, its flags and the commands below it.
func printHelp(c *cobra.Command, _ []string) {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s\n\n%s\n", c.UseLine(), c.Short)
	if c.Long != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(c.Long))
	}
	printBelow(&b, c)
	own, servers := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags, servers.SortFlags = false, false
	c.Flags().VisitAll(func(flag *pflag.Flag) {
		switch {
		case flag.Name == "help":
		case annotation(flag, noteServers) != "":
			servers.AddFlag(flag)
		default:
			own.AddFlag(flag)
		}
	})
	printFlags(&b, "Flags", own)
	printFlags(&b, "Servers to use instead of the running svc dev", servers)
	fmt.Fprint(c.OutOrStdout(), b.String())
}

// fullUse returns the usage of a command with all required flags.
func fullUse(c *cobra.Command) string {
	use, more := c.Use, c.HasAvailableSubCommands()
	if more {
		return use + " COMMAND"
	}
	c.Flags().VisitAll(func(flag *pflag.Flag) {
		if annotation(flag, noteRequired) == "" {
			more = true
			return
		}
		word, _ := pflag.UnquoteUsage(flag)
		use += " --" + flag.Name + " " + word
	})
	if more {
		use += " [flags]"
	}
	return use
}

// briefUse returns the usage of a command without its flags.
func briefUse(c *cobra.Command) string {
	use, _, _ := strings.Cut(c.Use, " --")
	return strings.TrimSuffix(strings.TrimSuffix(use, " [flags]"), " COMMAND")
}

// variables names the environment variables of a flag.
func variables(flag *pflag.Flag) string {
	if annotation(flag, noteSecret) != "" {
		return Variable(flag.Name) + ", " + Variable(flag.Name) + "_FILE"
	}
	return Variable(flag.Name)
}

// printBelow lists the commands below a command, by section.
func printBelow(b *strings.Builder, c *cobra.Command) {
	width := 0
	for _, below := range c.Commands() {
		width = max(width, len([]rune(briefUse(below))))
	}
	list := func(group string) {
		for _, below := range c.Commands() {
			if below.GroupID == group && !below.Hidden {
				fmt.Fprintf(b, "  %-*s  %s\n", width, briefUse(below), below.Short)
			}
		}
	}
	if !c.HasAvailableSubCommands() {
		return
	}
	for _, group := range c.Groups() {
		fmt.Fprintf(b, "\n%s:\n", group.Title)
		list(group.ID)
	}
	if len(c.Groups()) == 0 {
		b.WriteString("\n")
		list("")
	}
	fmt.Fprintf(b, "\nsvc help %sCOMMAND describes a command.\n", strings.TrimLeft(pathBelowRoot(c)+" ", " "))
}

func printFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if flags.HasAvailableFlags() {
		fmt.Fprintf(b, "\n%s:\n%s", title, flags.FlagUsagesWrapped(helpWidth))
	}
}

// helpCommand returns the command svc help.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND…]", Short: "describe a command and its flags",
		ValidArgsFunction: completeCommands,
		PreRunE:           func(c *cobra.Command, args []string) error { return commandFault(c.Root(), args) },
		RunE: func(c *cobra.Command, args []string) error {
			found, _, err := c.Root().Find(args)
			if err != nil {
				return err //nolint:wrapcheck // the arguments were checked above
			}
			return found.Help()
		},
	}
}

// commandFault returns the error for arguments that do not name a command.
func commandFault(root *cobra.Command, words []string) error {
	found, rest, err := root.Find(words)
	if err == nil && len(rest) == 0 {
		return nil
	}
	return chooseBelow(found, rest)
}

// completeCommands completes the name of a command.
func completeCommands(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	found, rest, err := c.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []string
	for _, below := range found.Commands() {
		if strings.HasPrefix(below.Name(), begun) && !below.Hidden {
			all = append(all, cobra.CompletionWithDesc(below.Name(), below.Short))
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// About adds the commands about the program itself.
func About(root *cobra.Command, now func() time.Time) {
	help := helpCommand()
	root.SetHelpCommand(help)
	Section(root, "This program", versionCommand(), completionCommand(), manCommand(now), help)
}

// versionCommand returns the command svc version.
func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version of this build",
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), c.Root().Version)
			return err
		},
	}
}

// completionCommand returns the command svc completion, which prints the script with which a shell completes commands
// and flags.
func completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "print the shell completion script: bash, zsh or fish", ValidArgs: shells,
		Long: `Load it in the running shell, or put it where the shell looks for such files:

  bash   source <(svc completion bash)
         svc completion bash > /usr/share/bash-completion/completions/svc
  zsh    source <(svc completion zsh)
         svc completion zsh > "${fpath[1]}/_svc"
  fish   svc completion fish | source
         svc completion fish > ~/.config/fish/completions/svc.fish`,
		RunE: func(c *cobra.Command, args []string) error {
			root, out := c.Root(), c.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return Usage(fmt.Errorf("SHELL: must be %s", either(shells)))
		},
	}
}

// manCommand returns the command svc man.
func manCommand(now func() time.Time) *cobra.Command {
	var folder string
	c := &cobra.Command{
		Use: "man [COMMAND…]", Short: "print the manual page of a command, or write all pages",
		Long: `  svc man keys mint | man -l -                    one page, to read
  svc man --out /usr/local/share/man/man1         all pages, for man svc-keys-mint`,
		ValidArgsFunction: completeCommands,
	}
	c.Flags().StringVar(&folder, "out", "", "`folder` for the manual pages of all commands")
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if folder != "" && len(args) > 0 {
			return errors.New("--out: writes all pages; omit the command")
		}
		return commandFault(c.Root(), args)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		at := now()
		head := &doc.GenManHeader{Section: "1", Source: c.Root().Version, Manual: "svc", Date: &at}
		if folder == "" {
			found, _, err := c.Root().Find(args)
			if err != nil {
				return err //nolint:wrapcheck // the path was checked above
			}
			return doc.GenMan(found, head, c.OutOrStdout())
		}
		if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // man must read the folder as any user
			return fmt.Errorf("--out: %w", err)
		}
		return doc.GenManTree(c.Root(), head, folder)
	}
	return c
}
