package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/internal/admin/sheets"
)

// TerminologyCommand returns the command svc terminology, which manages a hospital's terminology map through the API.
func TerminologyCommand(w Env) *cobra.Command {
	c := &cobra.Command{
		Use: "terminology", Short: "administer the terminology map of a hospital",
		Long: `A file has the columns system, code, kind, factorId, op, than, comment, named in
its first line; kind, op, than and comment may be omitted. factorId none marks a
code without clinical meaning. - is standard input or output.`,
	}
	c.AddCommand(
		verb(w, "import FILE", "import a CSV file; a file with an error changes nothing", importMappings, func(_ *client, cmd *cobra.Command) {
			cmd.Flags().Bool("dry-run", false, "show what would change, without changing anything")
		}),
		verb(w, "export [FILE]", "export the map as a file for import", exportMappings),
		verb(w, "list", "list the map", listMappings),
		verb(w, "worklist", "list unmapped codes", listUnmapped, func(_ *client, cmd *cobra.Command) {
			OneOf(cmd, new(string), "status", "", "only codes with this status: unmapped, ignored or mapped", "unmapped", "ignored", "mapped")
		}),
	)
	return c
}

const terminologyPath = "/api/admin/terminology"

// chunkRows is the maximum number of rows in one request.
const chunkRows = 1000

// listPath matches the beginning of the path of an error. The number in it is the index of the row in the request.
var listPath = regexp.MustCompile(`^mappings\[(\d+)\]\.?`)

// imported sums up the results of an import or of a dry run.
type imported struct {
	DryRun    bool     `json:"dryRun"`
	Rows      int      `json:"rows"`
	Imported  int      `json:"imported"`
	Activated int      `json:"activated"`
	Expired   int      `json:"expired"`
	Faults    []string `json:"faults"`
}

// importMappings sends the rows of a file. It first sends all rows as a dry run, so that a file with an error changes
// nothing. With --dry-run, it sends nothing else.
func importMappings(ctx context.Context, c *client) error {
	text, err := OpenInput(ctx, c.id)
	if err != nil {
		return fmt.Errorf("%s: %w", c.id, err)
	}
	defer text.Close() //nolint:errcheck // the file was only read
	rows, faults, err := sheets.ReadMappings(text, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", c.id, err)
	}
	sum := imported{DryRun: c.text("dry-run") == "true", Rows: len(rows), Faults: []string{}}
	for _, f := range faults {
		sum.Faults = append(sum.Faults, f.Error())
	}
	turns := []bool{true, false} // dry run, then import
	if sum.DryRun {
		turns = turns[:1]
	}
	for _, dry := range turns {
		sum.Activated, sum.Expired = 0, 0
		for chunk := range slices.Chunk(rows, chunkRows) {
			if err := c.sendMappings(ctx, chunk, dry, &sum); err != nil {
				return fmt.Errorf("%s: %w", sum.extent(), err)
			}
			if !dry && len(sum.Faults) > 0 { // the map has changed since the dry run, or the rows together exceed its limit
				break
			}
		}
		if len(sum.Faults) > 0 {
			break
		}
	}
	return c.printImported(&sum)
}

// extent says how many rows were imported.
func (i *imported) extent() string {
	if i.Imported == 0 {
		return "nothing was imported"
	}
	return fmt.Sprintf("only %d of %d rows were imported", i.Imported, i.Rows)
}

// sendMappings sends some rows, and adds the results to sum. Errors in rows name the line in the file.
func (c *client) sendMappings(ctx context.Context, rows []sheets.Line[sheets.Mapping], dry bool, sum *imported) error {
	list := make([]sheets.Mapping, len(rows))
	for i := range rows {
		list[i] = rows[i].Row
	}
	var answer struct{ Activated, Expired []json.RawMessage }
	err := c.askInto(ctx, http.MethodPost, terminologyPath+"?dryRun="+strconv.FormatBool(dry), map[string]any{"mappings": list}, &answer)
	var no *refusal
	if errors.As(err, &no) && len(no.Details) > 0 {
		for _, d := range no.Details {
			where := d.Path
			if at := listPath.FindStringSubmatch(d.Path); at != nil {
				if n, bad := strconv.Atoi(at[1]); bad == nil && n < len(rows) {
					where = fmt.Sprintf("line %d: %s", rows[n].Line, strings.TrimPrefix(d.Path, at[0]))
				}
			}
			sum.Faults = append(sum.Faults, strings.TrimSuffix(where, ": ")+": "+d.Rule.String())
		}
		return nil
	}
	if err != nil {
		return err
	}
	if !dry {
		sum.Imported += len(rows)
	}
	sum.Activated += len(answer.Activated)
	sum.Expired += len(answer.Expired)
	return nil
}

// printImported prints the result of an import.
func (c *client) printImported(sum *imported) error {
	if c.json {
		if err := PrintJSON(c.Stdout, sum); err != nil {
			return err
		}
	} else {
		for _, fault := range sum.Faults {
			fmt.Fprintln(c.Stderr, fault)
		}
	}
	if len(sum.Faults) > 0 {
		return fmt.Errorf("%s; errors: %d", sum.extent(), len(sum.Faults))
	}
	if c.json {
		return nil
	}
	did := "imported"
	if sum.DryRun {
		did = "would import"
	}
	return c.Printf("%s %d rows; factors: %d activated, %d expired\n", did, sum.Rows, sum.Activated, sum.Expired)
}

func (c *client) mappings(ctx context.Context) ([]sheets.Mapping, error) {
	var answer struct{ Mappings []sheets.Mapping }
	err := c.askInto(ctx, http.MethodGet, terminologyPath+"?limit=20000", nil, &answer)
	return answer.Mappings, err
}

// exportMappings writes the map as a file that import accepts.
func exportMappings(ctx context.Context, c *client) error {
	rows, err := c.mappings(ctx)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err = sheets.WriteMappings(&text, rows); err != nil {
		return err
	}
	if c.flags.NArg() == 0 || c.id == "-" {
		_, err = c.Stdout.Write(text.Bytes())
		return err
	}
	if err = WriteFile(c.id, text.Bytes()); err != nil {
		return fmt.Errorf("%s: %w", c.id, WithoutPath(err))
	}
	return nil
}

func listMappings(ctx context.Context, c *client) error {
	rows, err := c.mappings(ctx)
	if err != nil {
		return err
	}
	if c.json {
		return PrintItems(c.Stdout, rows)
	}
	return printTable(c, rows, func(r *sheets.Mapping) []any {
		value := ""
		if r.Value != nil {
			value = r.Value.Op + " " + r.Value.Than.String()
		}
		return []any{r.System, r.Code, r.KindName(), r.FactorID, value, r.Comment}
	}, "SYSTEM", "CODE", "KIND", "FACTOR", "VALUE", "COMMENT")
}

func listUnmapped(ctx context.Context, c *client) error {
	var answer struct {
		Items []json.RawMessage
		Total int
	}
	query := terminologyPath + "/worklist?limit=1000"
	if status := c.text("status"); status != "" {
		query += "&status=" + status
	}
	if err := c.askInto(ctx, http.MethodGet, query, nil, &answer); err != nil {
		return err
	}
	if c.json {
		return PrintItems(c.Stdout, answer.Items)
	}
	table := NewTable(c.Stdout, "SYSTEM", "CODE", "KIND", "STATUS", "24H", "TOTAL", "LAST SEEN", "SUGGESTED", "DISPLAY")
	for _, raw := range answer.Items {
		var item struct {
			System, Code, Kind, Status, Display string
			Count24h, CountTotal                int64
			LastSeenAt                          time.Time
			Suggestions                         []struct{ FactorID string }
		}
		if err := decode(raw, &item); err != nil {
			return err
		}
		suggested := ""
		if len(item.Suggestions) > 0 {
			suggested = item.Suggestions[0].FactorID
		}
		table.Row(item.System, item.Code, item.Kind, item.Status,
			item.Count24h, item.CountTotal, Stamp(item.LastSeenAt), suggested, item.Display)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if more := answer.Total - len(answer.Items); more > 0 {
		return c.Printf("and %d more\n", more)
	}
	return nil
}
