package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/internal/admin/audit"
	"svc/internal/admin/keys"
	"svc/internal/admin/settings"
	"svc/internal/cli"
	"svc/internal/httpapi/access"
	"svc/internal/kafkacli"
)

// HospitalsCommand is svc hospitals: it administers hospitals.
func HospitalsCommand(w cli.Env) *cobra.Command {
	return group("hospitals", "administer hospitals", createHospitalCommand(w), importHospitalsCommand(w), listHospitalsCommand(w))
}

func createHospitalCommand(w cli.Env) *cobra.Command {
	a := kafkacli.New(w, 0)
	var h access.Hospital
	c := a.Cobra("create [ID]", "make a hospital", func(ctx context.Context, _ []string) error { return createHospital(ctx, a, &h) })
	c.Long = "The id is given as ID, or by --id."
	f := c.Flags()
	f.StringVar(&h.ID, "id", "", "`id`: lower-case letters, digits and hyphens")
	f.StringVar(&h.Name, "name", "", "name, for `people`")
	f.StringVar(&h.Zone, "timezone", "", "IANA time `zone`, such as America/Chicago")
	cli.Require(f, "name", "timezone")
	a.Check = func() []error {
		switch id := strings.Join(f.Args(), ""); {
		case (id == "") == (h.ID == ""):
			return []error{errors.New("ID, --id: give one of them")}
		case id != "":
			h.ID = id
		}
		if h.Zone == "" { // another fault covers it
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
			return fmt.Errorf("hospital %q exists already", h.ID)
		}
		h.CreatedAt = a.Now().UTC().Truncate(time.Millisecond)
		act := audit.Act{Hospital: h.ID, At: h.CreatedAt, By: audit.CommandLine, Action: "hospital.create", Subject: h.ID}
		if err := ring.Audit.Do(ctx, access.ErrOvertaken, func() error { return s.PutHospital(ctx, seen, h) }, act); err != nil {
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
