package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// About adds the commands about the program itself.
func About(root *cobra.Command, now func() time.Time) {
	help := helpCommand()
	root.SetHelpCommand(help)
	Section(root, "This program", versionCommand(), completionCommand(), manCommand(now), help)
}

// versionCommand is svc version.
func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "tell which build this is",
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), c.Root().Version)
			return err
		},
	}
}

// completionCommand is svc completion: it prints the script with which a shell completes
// commands and flags.
func completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "print what completes commands in a shell: bash, zsh or fish", ValidArgs: shells,
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

// manCommand is svc man.
func manCommand(now func() time.Time) *cobra.Command {
	var folder string
	c := &cobra.Command{
		Use: "man [COMMAND…]", Short: "print the manual page of a command, or write all pages",
		Long: `  svc man keys mint | man -l -                    one page, to read
  svc man --out /usr/local/share/man/man1         all pages, for man svc-keys-mint`,
		ValidArgsFunction: completeCommands,
	}
	c.Flags().StringVar(&folder, "out", "", "`folder` for a page of each command")
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if folder != "" && len(args) > 0 {
			return errors.New("--out: writes all pages; name no command")
		}
		return commandFault(c.Root(), args)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		at := now()
		head := &doc.GenManHeader{Section: "1", Source: c.Root().Version, Manual: "svc", Date: &at}
		if folder == "" {
			found, _, err := c.Root().Find(args)
			if err != nil {
				return err //nolint:wrapcheck // was checked before
			}
			return doc.GenMan(found, head, c.OutOrStdout())
		}
		if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // a folder that man reads for every user
			return fmt.Errorf("--out: %w", err)
		}
		return doc.GenManTree(c.Root(), head, folder)
	}
	return c
}
