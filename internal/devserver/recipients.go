package devserver

import (
	"context"
	"fmt"
	"net/http"

	"svc/internal/cli"
)

// demoRecipient is a recipient of the demo's alerts. The addresses are reserved for examples.
type demoRecipient struct {
	Label string `json:"label"`
	Email string `json:"email"`
	Phone string `json:"phone"`
}

// demoTier is a tier of the demo. Its recipients are indexes in the list of recipients.
type demoTier struct {
	id             string
	to, escalateTo []int
	action         string
}

const alertsPath = "/api/admin/alerts/"

var (
	demoRecipients = []demoRecipient{
		{"Charge nurse", "charge@hospital.example", "+15555550101"},
		{"Nurse manager", "manager@hospital.example", "+15555550102"},
		{"House supervisor", "supervisor@hospital.example", "+15555550103"},
	}
	demoTiers = []demoTier{
		{id: "T1", to: []int{0}},
		{id: "T2", to: []int{0}, escalateTo: []int{1}, action: "Ask the on-call nurse to stand by."},
		{id: "T3", to: []int{0, 1}, escalateTo: []int{2}, action: "Call in the on-call nurse."},
	}
)

// addRecipients creates the recipients of alerts and assigns them to the tiers, once per data folder. If it fails, it
// prints the reason, and alerts have no recipients.
func (d *Demo) addRecipients(ctx context.Context, running *cli.DevFile) {
	if d.state.Alerts {
		return
	}
	ask := func(method, path string, body, data any) error {
		return cli.Ask(ctx, running.BaseURL, running.AdminKey, method, alertsPath+path, body, data)
	}
	if err := addRecipients(ask); err != nil && ctx.Err() == nil {
		fmt.Fprintf(d.Stderr, "demo: alerts have no recipients: %v\n", err)
	}
	d.state.Alerts = true
	d.save()
}

func addRecipients(ask func(method, path string, body, data any) error) error {
	var known struct{ Items []any }
	if err := ask(http.MethodGet, "recipients", nil, &known); err != nil || len(known.Items) > 0 {
		return err // a person has already configured them
	}
	ids := make([]string, len(demoRecipients))
	for i := range demoRecipients {
		var made struct{ ID string }
		if err := ask(http.MethodPost, "recipients", &demoRecipients[i], &made); err != nil {
			return err
		}
		ids[i] = made.ID
	}
	named := func(list []int) []string {
		names := make([]string, len(list))
		for i, at := range list {
			names[i] = ids[at]
		}
		return names
	}
	for _, t := range demoTiers {
		body := map[string]any{"recipients": named(t.to), "escalateTo": named(t.escalateTo), "action": t.action}
		var set struct{}
		if err := ask(http.MethodPut, "tiers/"+t.id, body, &set); err != nil {
			return err
		}
	}
	return nil
}
