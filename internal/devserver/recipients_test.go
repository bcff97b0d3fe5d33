package devserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// alertsAPI implements the requests with which the demo administers alerts. It fails once it has answered a given
// number of requests.
type alertsAPI struct {
	recipients []map[string]string
	tiers      map[string][]string
	left       int
}

var errStopped = errors.New("stopped")

func (a *alertsAPI) ask(method, path string, body, data any) error {
	if a.left--; a.left < 0 {
		return errStopped
	}
	var answer any
	switch method {
	case http.MethodGet:
		answer = map[string]any{"recipients": a.recipients}
	case http.MethodPost:
		made, ok := body.(*demoRecipient)
		if !ok {
			return fmt.Errorf("no recipient: %v", body)
		}
		r := map[string]string{"id": fmt.Sprint("rcp_", len(a.recipients)), "label": made.Label}
		a.recipients = append(a.recipients, r)
		answer = r
	default:
		_, id, _ := strings.Cut(path, "/")
		tier, _ := body.(map[string]any) //nolint:errcheck // any other body has no recipients
		var ok bool
		if a.tiers[id], ok = tier["recipients"].([]string); !ok {
			return fmt.Errorf("no tier: %v", body)
		}
		answer = struct{}{}
	}
	b, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, data)
}

// TestRecipientsAreCompleted: if the demo is stopped while it creates recipients, the next start creates only the
// missing ones.
func TestRecipientsAreCompleted(t *testing.T) {
	for stopAfter := range 8 {
		a := &alertsAPI{tiers: map[string][]string{}, left: stopAfter}
		err := addRecipients(a.ask)
		if done := err == nil; done != (stopAfter == 7) {
			t.Fatalf("after %d requests: %v", stopAfter, err)
		}
		a.left = 100
		if err := addRecipients(a.ask); err != nil {
			t.Fatal(err)
		}
		if len(a.recipients) != len(demoRecipients) || len(a.tiers) != len(demoTiers) || len(a.tiers["T3"]) != 2 {
			t.Errorf("stopped after %d requests: recipients %v, tiers %v", stopAfter, a.recipients, a.tiers)
		}
	}
}

// TestRecipientsOfAPerson: the demo changes nothing if the hospital has a recipient that a person has added.
func TestRecipientsOfAPerson(t *testing.T) {
	a := &alertsAPI{recipients: []map[string]string{{"id": "rcp_0", "label": "Night desk"}}, tiers: map[string][]string{}, left: 100}
	if err := addRecipients(a.ask); err != nil || len(a.recipients) != 1 || len(a.tiers) != 0 {
		t.Errorf("%v: recipients %v, tiers %v", err, a.recipients, a.tiers)
	}
}
