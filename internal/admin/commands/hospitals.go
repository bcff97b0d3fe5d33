package commands

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/internal/admin/audit"
	"svc/internal/admin/keys"
	"svc/internal/admin/settings"
	"svc/internal/analysis/spreadsheet"
	"svc/internal/cli"
	"svc/internal/httpapi/access"
	"svc/internal/kafkacli"
	"svc/internal/stream"
)

// HospitalsCommand returns the command svc hospitals, which administers hospitals.
func HospitalsCommand(w cli.Env) *cobra.Command {
	return group("hospitals", "administer hospitals", createHospitalCommand(w), importHospitalsCommand(w), listHospitalsCommand(w))
}

func createHospitalCommand(w cli.Env) *cobra.Command {
	a := kafkacli.New(w, 0)
	var h access.Hospital
	c := a.Cobra("create [ID]", "create a hospital", func(ctx context.Context, _ []string) error { return createHospital(ctx, a, &h) })
	c.Long = "Give the id either as ID or with --id."
	f := c.Flags()
	f.StringVar(&h.ID, "id", "", "`id`: lower-case letters, digits and hyphens")
	f.StringVar(&h.Name, "name", "", "display `name`")
	f.StringVar(&h.Zone, "timezone", "", "IANA time `zone`, such as America/Chicago")
	cli.Require(f, "name", "timezone")
	a.Check = func() []error {
		switch id := strings.Join(f.Args(), ""); {
		case (id == "") == (h.ID == ""):
			return []error{errors.New("ID, --id: give exactly one of them")}
		case id != "":
			h.ID = id
		}
		if h.Zone == "" { // the error about the missing flag is enough
			return nil
		}
		return []error{h.Check()}
	}
	return c
}

func createHospital(ctx context.Context, a *kafkacli.Command, h *access.Hospital) error {
	return a.Connected(ctx, func(ctx context.Context, s *settings.Store, ring *keys.Ring) error {
		seen := s.Seen()
		if _, exists := s.Register.Hospital(h.ID); exists {
			return fmt.Errorf("hospital %q already exists", h.ID)
		}
		h.CreatedAt = a.Now().UTC().Truncate(time.Millisecond)
		act := audit.Act{Hospital: h.ID, At: h.CreatedAt, By: audit.CommandLine, Action: "hospital.create", Subject: h.ID}
		if err := ring.Audit.Do(ctx, func() error { return s.PutHospital(ctx, seen, h) }, act); err != nil {
			return err
		}
		if a.JSON {
			return cli.PrintJSON(a.Stdout, hospitalRow{h.ID, h.Name, h.Zone, cli.Stamp(h.CreatedAt)})
		}
		return a.Printf("created %s\n", h.ID)
	})
}

type hospitalRow struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Zone      string `json:"timezone"`
	CreatedAt string `json:"createdAt"`
}

func listHospitalsCommand(w cli.Env) *cobra.Command {
	a := kafkacli.New(w, 0)
	return a.Cobra("list", "list hospitals", func(ctx context.Context, _ []string) error { return listHospitals(ctx, a) })
}

func listHospitals(ctx context.Context, a *kafkacli.Command) error {
	return a.Connected(ctx, func(_ context.Context, s *settings.Store, _ *keys.Ring) error {
		rows := []hospitalRow{}
		for _, h := range s.Register.Hospitals() {
			rows = append(rows, hospitalRow{h.ID, h.Name, h.Zone, cli.Stamp(h.CreatedAt)})
		}
		if a.JSON {
			return cli.PrintItems(a.Stdout, rows)
		}
		table := cli.NewTable(a.Stdout, "ID", "NAME", "TIMEZONE", "CREATED")
		for _, row := range rows {
			table.Row(row.ID, row.Name, row.Zone, row.CreatedAt)
		}
		return table.Flush()
	})
}

const (
	importAtOnce = 100 // hospitals in one transaction
	importWithin = 15 * time.Minute
	importKeys   = 200     // maximum number of keys for one hospital
	importLine   = 1 << 20 // bytes in a line of JSON, including the line break
)

// hospitalColumns are the columns of a file with hospitals.
var hospitalColumns = []string{"id", "name", "timezone", "keys"}

// hospitalImport is one run of svc hospitals import.
type hospitalImport struct {
	keyOptions
	dryRun bool
	out    *csv.Writer

	made struct {
		DryRun    bool      `json:"dryRun,omitempty"` // if true, nothing was created, and the counts are what an import would create
		Hospitals int       `json:"hospitals"`
		There     int       `json:"there"` // number of hospitals that already existed
		Keys      []madeKey `json:"items"`
	}
}

// madeKey is a new key in the output of the import, which is the only place where its token is shown.
type madeKey struct {
	Hospital string `json:"hospitalId"`
	Name     string `json:"name"`
	ID       string `json:"id,omitempty"`  // empty in a dry run
	Token    string `json:"key,omitempty"` // empty in a dry run
}

// importedHospital is a line of the file.
type importedHospital struct {
	access.Hospital
	keys []string // names of the keys
	line int
}

func importHospitalsCommand(w cli.Env) *cobra.Command {
	o := &hospitalImport{keyOptions: keyOptions{Command: kafkacli.New(w, 0)}}
	o.Within = importWithin
	c := o.Cobra("import FILE", "create the hospitals in a CSV or JSON Lines file, and print their keys: this is the only time they are "+
		"shown", func(ctx context.Context, args []string) error {
		return o.run(ctx, args[0])
	})
	c.Long = `A CSV file has the columns id, name, timezone and keys, named in its first line. keys
lists the names of the keys of a hospital, separated by semicolons, and may be
omitted. A JSON lines file has an object with the same fields in each line; keys is a
list. All keys have the scopes and limits of the flags. - is standard input.

A file with an error changes nothing. Existing hospitals and keys are unchanged and not
printed, so an interrupted import can be repeated with the same file. The keys are
printed as CSV: hospital, name, id, key. With --dry-run nothing is created, and only the
counts are printed.`
	o.addFlags()
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "check the file and count what an import would create, without changing anything")
	o.Check = o.faults
	return c
}

func (o *hospitalImport) run(ctx context.Context, file string) error {
	rows, faults, err := o.read(ctx, file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	err = o.refuse(faults)
	if err == nil && o.scopes == "" && slices.ContainsFunc(rows, func(r importedHospital) bool { return len(r.keys) > 0 }) {
		err = cli.Usage(errors.New("--scopes: required, because the file names keys"))
	}
	if err != nil {
		return err
	}
	o.out = csv.NewWriter(o.Stdout)
	return o.Connected(ctx, func(ctx context.Context, s *settings.Store, ring *keys.Ring) error {
		if err := o.refuse(differences(s, rows)); err != nil {
			return err
		}
		if o.dryRun {
			return o.printCounts(s, rows)
		}
		err := o.makeAll(ctx, s, ring, rows)
		if o.JSON {
			return errors.Join(err, cli.PrintJSON(o.Stdout, &o.made))
		}
		fmt.Fprintf(o.Stderr, "hospitals created: %d, already existing: %d; keys created: %d\n", o.made.Hospitals, o.made.There, len(o.made.Keys))
		return err
	})
}

// printCounts prints what an import would create.
func (o *hospitalImport) printCounts(s *settings.Store, rows []importedHospital) error {
	made, created := &o.made, 0
	made.DryRun, made.Keys = true, []madeKey{}
	for i := range rows {
		if _, exists := s.Register.Hospital(rows[i].ID); exists {
			made.There++
		} else {
			made.Hospitals++
		}
		for _, name := range o.missing(s, &rows[i]) {
			made.Keys = append(made.Keys, madeKey{Hospital: rows[i].ID, Name: name})
			created++
		}
	}
	if o.JSON {
		return cli.PrintJSON(o.Stdout, made)
	}
	return o.Printf("hospitals to create: %d, already existing: %d; keys to create: %d\n", made.Hospitals, made.There, created)
}

// refuse prints the errors in a file, and returns an error if there are any.
func (o *hospitalImport) refuse(faults []string) error {
	if len(faults) == 0 {
		return nil
	}
	for _, fault := range faults {
		fmt.Fprintln(o.Stderr, fault)
	}
	return fmt.Errorf("nothing was imported; errors: %d", len(faults))
}

// differences returns an error for each line whose hospital already exists with a different name or time zone. The
// import cannot decide which of the two values is right.
func differences(s *settings.Store, rows []importedHospital) (faults []string) {
	for i := range rows {
		known, exists := s.Register.Hospital(rows[i].ID)
		if exists && known.Name != rows[i].Name {
			faults = append(faults, fmt.Sprintf("line %d: name: the hospital already exists with a different name", rows[i].line))
		}
		if exists && known.Zone != rows[i].Zone {
			faults = append(faults, fmt.Sprintf("line %d: timezone: the hospital already exists with a different time zone", rows[i].line))
		}
	}
	return faults
}

// makeAll creates the missing hospitals and keys. Each transaction creates at most importAtOnce hospitals.
func (o *hospitalImport) makeAll(ctx context.Context, s *settings.Store, ring *keys.Ring, rows []importedHospital) error {
	if !o.JSON {
		o.out.Write([]string{"hospital", "name", "id", "key"}) //nolint:errcheck // the flush of each transaction returns the error
	}
	for chunk := range slices.Chunk(rows, importAtOnce) {
		if err := audit.Retry(ctx, func() error { return o.makeChunk(ctx, s, ring, chunk) }); err != nil {
			return fmt.Errorf("nothing was created from line %d onward: %w", chunk[0].line, err)
		}
	}
	return nil
}

// makeChunk creates some hospitals with their keys in one transaction.
func (o *hospitalImport) makeChunk(ctx context.Context, s *settings.Store, ring *keys.Ring, rows []importedHospital) error {
	seen := s.Seen()
	var hospitals []string // hospitals with changes
	var entries []stream.Entry
	var acts []audit.Act
	var made []madeKey
	fresh := 0
	for i := range rows {
		row := &rows[i]
		before := len(entries)
		if _, exists := s.Register.Hospital(row.ID); !exists {
			fresh++
			h := row.Hospital
			h.CreatedAt = o.Now().UTC().Truncate(time.Millisecond)
			entry, err := settings.HospitalEntry(&h)
			if err != nil {
				return err
			}
			entries = append(entries, entry)
			acts = append(acts, audit.Act{Hospital: h.ID, At: h.CreatedAt, By: audit.CommandLine, Action: "hospital.create", Subject: h.ID})
		}
		for _, name := range o.missing(s, row) {
			key, token := access.Mint(o.template(row.ID, name), o.Now())
			entry, err := settings.KeyEntry(&key)
			if err != nil {
				return err
			}
			entries = append(entries, entry)
			acts = append(acts, audit.Act{
				Hospital: row.ID, At: o.Now(), By: audit.CommandLine, Action: keys.ActMint,
				Subject: key.ID, After: keys.Version(&key),
			})
			made = append(made, madeKey{row.ID, name, key.ID, token})
		}
		if len(entries) > before {
			hospitals = append(hospitals, row.ID)
		}
	}
	if len(entries) > 0 {
		err := ring.Audit.Do(ctx, func() error { return s.WriteAll(ctx, hospitals, seen, entries...) }, acts...)
		if err != nil {
			return err
		}
	}
	o.made.Hospitals += fresh
	o.made.There += len(rows) - fresh
	o.made.Keys = append(o.made.Keys, made...)
	return o.print(made)
}

// missing returns the key names for which a hospital has no valid key.
func (o *hospitalImport) missing(s *settings.Store, row *importedHospital) (names []string) {
	known := s.Register.Keys(row.ID)
	for _, name := range row.keys {
		if !slices.ContainsFunc(known, func(k access.Key) bool { return k.Name == name && k.Valid(o.Now()) }) {
			names = append(names, name)
		}
	}
	return names
}

// print prints new keys, after the transaction that created them has been committed.
func (o *hospitalImport) print(made []madeKey) error {
	if o.JSON {
		return nil
	}
	for _, k := range made {
		o.out.Write([]string{k.Hospital, spreadsheet.Escape(k.Name), k.ID, k.Token}) //nolint:errcheck // Flush returns the error
	}
	o.out.Flush()
	if err := o.out.Error(); err != nil {
		return fmt.Errorf("keys were created but not printed; see svc keys list and svc keys rotate: %w", err)
	}
	return nil
}
