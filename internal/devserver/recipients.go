package devserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"svc/internal/cli"
)

// demoRecipient is a recipient of the demo's alerts. Its e-mail address and telephone number are reserved for
// examples.
type demoRecipient struct {
	Label string `json:"label"`
	Email string `json:"email"`
	Phone string `json:"phone"`
}

// demoTier is a tier of the demo. to and escalateTo are indexes into demoRecipients.
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

// recipientTries is the maximum number of attempts to create the recipients. Several attempts may be necessary,
// because a busy machine may refuse some requests.
const recipientTries = 40

// addRecipients creates the recipients of alerts and assigns them to the tiers, once per data folder. After an error,
// it prints the reason, and alerts have no recipients until the next start tries again.
func (d *Demo) addRecipients(ctx context.Context, running *cli.DevFile) {
	if d.state.Alerts {
		return
	}
	ask := func(method, path string, body, data any) error {
		return cli.Ask(ctx, running.BaseURL, running.AdminKey, method, alertsPath+path, body, data)
	}
	err := addRecipients(ask)
	for tries := 1; err != nil && tries < recipientTries && cli.Pause(ctx, demoPatient) == nil; tries++ {
		err = addRecipients(ask)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		fmt.Fprintf(d.Stderr, "demo: alerts have no recipients: %v\n", err)
	default:
		d.state.Alerts = true
		d.save()
	}
}

// addRecipients creates the demo's recipients that are missing, and sets the tiers. If the hospital has a recipient
// that the demo did not create, addRecipients changes nothing.
func addRecipients(ask func(method, path string, body, data any) error) error {
	var known struct{ Recipients []struct{ ID, Label string } }
	if err := ask(http.MethodGet, "recipients", nil, &known); err != nil {
		return err
	}
	ids := make([]string, len(demoRecipients))
	for _, r := range known.Recipients {
		i := slices.IndexFunc(demoRecipients, func(one demoRecipient) bool { return one.Label == r.Label })
		if i < 0 {
			return nil
		}
		ids[i] = r.ID
	}
	for i := range demoRecipients {
		var made struct{ ID string }
		if ids[i] != "" {
			continue
		}
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
