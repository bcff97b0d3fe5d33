package integrations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/score"
	"svc/readapi/web/page/pagetest"
)

var anyTag = regexp.MustCompile(`<[^>]*>`)

// readWords returns the text of the part of a page between two strings.
func readWords(page, from, to string) string {
	_, page, _ = strings.Cut(page, from)
	page, _, _ = strings.Cut(page, to)
	return strings.Join(strings.Fields(html.UnescapeString(anyTag.ReplaceAllString(page, " "))), " ")
}

// readRows returns the text of each cell in each row of the first table after the given text.
func readRows(page, after string) (rows [][]string) {
	_, page, _ = strings.Cut(page, after)
	_, page, _ = strings.Cut(page, "<tbody>")
	page, _, _ = strings.Cut(page, "</tbody>")
	for row := range strings.SplitSeq(page, "</tr>") {
		var cells []string
		for _, cell := range regexp.MustCompile(`(?s)<t[hd][ >].*?</t[hd]>`).FindAllString(row, -1) {
			cells = append(cells, readWords("^"+cell+"$", "^", "$"))
		}
		if cells != nil {
			rows = append(rows, cells)
		}
	}
	return rows
}

// TestFirstRunStatesWhatIsKnown compares the page of the first steps with what is known about a hospital without
// data, with some data, and with all data. If the unit or the feeds are unknown, the page shows no step as done or
// still to do.
func TestFirstRunStatesWhatIsKnown(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	var verdict *score.Verdict
	var away error
	a.config.Verdict = func(context.Context, string) (*score.Verdict, error) { return verdict, away }
	a.mount()
	step := regexp.MustCompile(`<li class="(done|next|)"`)
	rapid.Check(t, func(r *rapid.T) {
		counts := map[string]int{}
		for _, name := range []string{"keys", "webhooks", "alerts", "walls"} {
			counts[name] = rapid.IntRange(0, 2).Draw(r, name)
		}
		a.counts, verdict, away = counts, nil, nil
		status := rapid.SampledFrom([]string{"", `503 {"code":"unavailable"}`, `{"reasons":["view_away"],"feeds":[]}`, `{"reasons":["nothing_recorded"],"feeds":[]}`, `{"feeds":[{}]}`}).Draw(r, "status")
		delete(a.answers, "GET /api/ingest/status")
		if status != "" {
			a.answers["GET /api/ingest/status"] = status
		}
		known := strings.HasSuffix(status, `"feeds":[]}`) && !strings.Contains(status, "away") || strings.Contains(status, "{}")
		received, rooms, staffed := strings.Contains(status, "{}"), false, false
		switch rapid.IntRange(0, 3).Draw(r, "unit") {
		case 0:
			away, known = errors.New("away"), false
		case 1, 2:
			rooms, staffed = rapid.Bool().Draw(r, "rooms"), rapid.Bool().Draw(r, "staffed")
			verdict, known, received = &score.Verdict{OnDuty: -1}, true, true
			if staffed {
				verdict.OnDuty = rapid.Int32Range(0, 9).Draw(r, "on duty")
			}
			if rooms {
				verdict.Rooms = []score.RoomVerdict{{ID: 1, Status: acuity.RoomEmpty}}
			}
		}
		got := a.Ask("GET", "/app/integrations", a.Cookie("north", "usr_admin"))
		body := got.Body.String()
		if !known {
			if got.Code != http.StatusServiceUnavailable || step.MatchString(body) {
				r.Fatalf("the feeds or the unit are unknown: %d %s", got.Code, readWords(body, "<main", "</main>"))
			}
			return
		}
		var states []string
		for _, m := range step.FindAllStringSubmatch(body, -1) {
			states = append(states, m[1])
		}
		n, next, want := 0, "next", []string(nil)
		for _, done := range []bool{counts["keys"] > 0, received, rooms, staffed, counts["webhooks"]+counts["alerts"] > 0, counts["walls"] > 0} {
			state := next
			if done {
				state = "done"
				n++
			} else {
				next = ""
			}
			want = append(want, state)
		}
		if !slices.Equal(states, want) || !strings.Contains(body, fmt.Sprintf("%d of 6 done.", n)) {
			r.Fatalf("%q, want %q: %s", states, want, readWords(body, "<main", "</main>"))
		}
	})
}

// TestTiersStateWhomTheyReach draws tiers and recipients. The page of alerts must say whom each tier notifies, and
// which of these recipients have no address for the tier's channels. For a tier without recipients, the page must
// name the enabled lower tiers whose recipients are notified instead, or say "none".
func TestTiersStateWhomTheyReach(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	cookie := a.Cookie("north", "usr_admin")
	rapid.Check(t, func(r *rapid.T) {
		var people []map[string]any
		var ids []string
		has := map[string][]string{} // channels for which a recipient has an address, by recipient id
		for i := range rapid.IntRange(0, 3).Draw(r, "recipients") {
			id := fmt.Sprint("rcp_", i)
			ids = append(ids, id)
			p := map[string]any{"id": id, "label": "Role " + id, "language": "en"}
			for field, channel := range map[string]string{"email": "email", "phone": "sms", "webhookId": "webhook"} {
				if rapid.Bool().Draw(r, id+" "+channel) {
					p[field] = "***"
					has[id] = append(has[id], channel)
				}
			}
			people = append(people, p)
		}
		var tiers []apiTier
		for _, id := range []string{"T1", "T2", "T3"} {
			tier := apiTier{ID: id, Enabled: rapid.IntRange(0, 3).Draw(r, id+" enabled") > 0, Channels: []string{}}
			for _, recipient := range ids {
				if rapid.Bool().Draw(r, id+recipient) {
					tier.Recipients = append(tier.Recipients, recipient)
				}
			}
			for _, channel := range channelsOfAlerts {
				if rapid.Bool().Draw(r, id+channel) {
					tier.Channels = append(tier.Channels, channel)
				}
			}
			tiers = append(tiers, tier)
		}
		a.answers["GET /api/admin/alerts/tiers"] = encode(r, map[string]any{"tiers": tiers})
		a.answers["GET /api/admin/alerts/recipients"] = encode(r, map[string]any{"recipients": people})
		rows := readRows(a.Ask("GET", "/app/integrations/alerts", cookie).Body.String(), `<tr>`)
		if len(rows) != len(tiers) {
			r.Fatalf("%d rows", len(rows))
		}
		for i, tier := range tiers {
			says := rows[i][2]
			var notified, below, without []string
			if notified = tier.Recipients; len(notified) == 0 {
				for _, lower := range tiers[:i] {
					if lower.Enabled && len(lower.Recipients) > 0 {
						notified, below = append(notified, lower.Recipients...), append(below, lower.ID)
					}
				}
			}
			for _, id := range notified {
				if !slices.ContainsFunc(tier.Channels, func(c string) bool { return slices.Contains(has[id], c) }) && !slices.Contains(without, "Role "+id) {
					without = append(without, "Role "+id)
				}
			}
			want := "recipients of " + strings.Join(below, ", ")
			if len(tier.Recipients) > 0 {
				want = "Role " + strings.Join(tier.Recipients, ", Role ")
			}
			if len(without) > 0 {
				want += " no address for these channels: " + strings.Join(without, ", ")
			}
			switch {
			case !tier.Enabled:
				want = "off"
			case len(notified) == 0:
				want = "none"
			}
			if says != want {
				r.Fatalf("%s says %q, want %q", tier.ID, says, want)
			}
		}
	})
}

func encode(r *rapid.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		r.Fatal(err)
	}
	return string(text)
}

// TestUsersStateWhatIsKnown draws users and checks the page of users. No user who is blocked, expired or without a
// role is shown as active. No cell is empty, and the list claims to be empty only if the API says so.
func TestUsersStateWhatIsKnown(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	cookie := a.Cookie("north", "usr_admin")
	now := pagetest.Noon
	rapid.Check(t, func(r *rapid.T) {
		var people []map[string]any
		var want [][]string
		for i := range rapid.IntRange(0, 4).Draw(r, "users") {
			p := map[string]any{"id": fmt.Sprint("usr_", i), "label": fmt.Sprint("Person ", i), "version": 1}
			row := []string{fmt.Sprint("Person ", i), "", "sign-in link", "unknown", "active", "Edit"}
			role := rapid.SampledFrom([]string{"viewer", "charge", "admin", "none"}).Draw(r, "role")
			p["role"], row[1] = role, map[string]string{"viewer": "viewer", "charge": "charge nurse", "admin": "administrator", "none": "no role"}[role]
			if p["signIn"] = "link"; rapid.Bool().Draw(r, "provider") {
				p["signIn"], row[2] = "provider", "single sign-on"
			}
			if rapid.Bool().Draw(r, "signed in") {
				p["signedInAt"], row[3] = now.Add(-time.Hour), "Apr 5 11:00"
			}
			blocked := rapid.Bool().Draw(r, "blocked")
			p["disabled"] = blocked
			left := rapid.SampledFrom([]time.Duration{0, -time.Hour, time.Hour}).Draw(r, "left")
			if left != 0 {
				p["until"] = now.Add(left)
			}
			switch {
			case blocked:
				row[4] = "blocked"
			case role == "none":
				row[4] = "no role assigned by your organization"
			case left < 0:
				row[4] = "expired"
			case left > 0:
				row[4] = "until Apr 5 13:00"
			}
			people, want = append(people, p), append(want, row)
		}
		away := rapid.IntRange(0, 9).Draw(r, "away") == 0
		if a.answers["GET /api/admin/users"] = encode(r, map[string]any{"users": people}); away {
			a.answers["GET /api/admin/users"] = `503 {"code":"unavailable"}`
		}
		got := a.Ask("GET", "/app/integrations/users", cookie)
		body := got.Body.String()
		if empty := strings.Contains(body, "No one has signed in yet."); empty != (len(people) == 0 && !away) || away != (got.Code == http.StatusServiceUnavailable) {
			r.Fatalf("%d users, away %t: %d, says that there are none: %t", len(people), away, got.Code, empty)
		}
		if rows := readRows(body, "<tr>"); !away && fmt.Sprint(rows) != fmt.Sprint(want) {
			r.Fatalf("%q, want %q", rows, want)
		}
	})
}
