package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// ward is a hospital of a running svc, in a state that the pages must show.
type ward struct {
	*partner
	env  []string // environment variables of the command line
	args []string
}

// link creates a sign-in link.
func (w *ward) link(t testing.TB, role string) string {
	t.Helper()
	url := cli(t, w.env, append([]string{"admin", "link", "--hospital", w.hospital, "--role", role, "--label", "night desk"}, w.args...)...)
	return url[strings.Index(url, "/signin/"):]
}

// ward creates another hospital in a svc dev.
func (d *dev) ward(t testing.TB, id, name string) *ward {
	t.Helper()
	args := []string{"--data", d.dir}
	cli(t, nil, append([]string{"hospitals", "create", "--id", id, "--name", name, "--timezone", "America/Chicago"}, args...)...)
	key := cli(t, nil, append([]string{"keys", "mint", "--hospital", id, "--name", "test", "--scopes", "all", "--rate", "0"}, args...)...)
	w := &ward{partner: newPartner(d.BaseURL, id, key), args: args}
	w.honored(t)
	return w
}

// bed is one room of a census.
type bed struct {
	RoomID        int32    `json:"roomId"`
	RoomLabel     string   `json:"roomLabel"`
	Area          string   `json:"area"`
	Status        string   `json:"status"`
	VisitID       string   `json:"visitId,omitempty"`
	PrimaryFactor string   `json:"primaryFactor,omitempty"`
	Modifiers     []string `json:"modifiers,omitempty"`
}

// canary is part of each visit number, and must not appear on any page.
const canary = "VNCANARY"

// census lists n rooms, which cycle through the given states. A state is "empty", "blocked", or a primary factor with
// its modifiers after plus signs.
func census(t testing.TB, n int, states ...string) string {
	t.Helper()
	beds := make([]bed, n)
	for i := range beds {
		area, label := "Labor and delivery", fmt.Sprintf("LDR %d", i+1)
		if i%5 >= 3 {
			area, label = "Postpartum", fmt.Sprintf("%d", 300+i)
		}
		switch i {
		case 7:
			label = "High-risk antepartum 12 B"
		case 10:
			label = "Antepartum 11"
		case 11:
			label = "Recuperación 12"
		}
		state := strings.Split(states[i%len(states)], "+")
		beds[i] = bed{RoomID: int32(i + 1), RoomLabel: label, Area: area, Status: "occupied"}
		if slices.Contains([]string{"empty", "blocked"}, state[0]) {
			beds[i].Status = state[0]
			continue
		}
		beds[i].VisitID, beds[i].PrimaryFactor, beds[i].Modifiers = fmt.Sprint(canary, i), state[0], state[1:]
	}
	body, err := json.Marshal(map[string]any{"rooms": beds})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func staffing(nurses int, call bool) string {
	return fmt.Sprintf(`{"nursesOnDuty":%d,"callStaffAvailable":%t}`, nurses, call)
}

// wards creates one hospital for each state that the design defines, and returns the hospitals by name.
func wards(t testing.TB, d *dev) map[string]*ward {
	t.Helper()
	all := map[string]*ward{}
	for _, name := range []string{"fresh", "empty", "unstaffed", "calm", "busy", "forty", "large", "past"} {
		all[name] = d.ward(t, name, "Mercy Maternity")
	}
	all["empty"].accepted(t, "census", census(t, 12, "empty"))
	all["empty"].accepted(t, "staffing", staffing(4, true))
	all["unstaffed"].accepted(t, "census", census(t, 12, "labor-standard", "pp-couplet", "empty"))
	all["calm"].accepted(t, "census", census(t, 14, "labor-standard", "pp-couplet", "pp-couplet", "empty", "pp-recovery-stable", "empty"))
	all["calm"].accepted(t, "staffing", staffing(9, true))
	busy := all["busy"]
	busy.accepted(t, "census", census(t, 16, "labor-standard+high-eclampsia", "csection-intraop", "labor-standard+high-preeclampsia",
		"pp-couplet", "triage-initial", "pp-couplet+high-bereavement", "blocked", "labor-induction", "empty"))
	busy.accepted(t, "staffing", staffing(6, false))
	busy.accepted(t, "clinical", `{"roomId":1,"signals":[{"kind":"medication","system":"RxNorm","code":"6585","display":"magnesium sulfate","status":"active"}]}`)
	busy.accepted(t, "roster", `{"nurses":[{"externalId":"N1","skillLevel":0,"assignedRoomIds":[1]},{"externalId":"N2","skillLevel":1,"assignedRoomIds":[2,3]}]}`)
	all["forty"].accepted(t, "census", census(t, 40, "labor-standard", "pp-couplet", "pp-couplet", "empty", "labor-standard+high-preeclampsia", "pp-couplet", "pp-couplet", "empty", "csection-intraop", "nb-stabilization"))
	all["forty"].accepted(t, "staffing", staffing(14, true))
	all["large"].accepted(t, "census", census(t, 120, "labor-standard", "pp-couplet", "pp-couplet", "empty", "pp-couplet"))
	all["large"].accepted(t, "staffing", staffing(60, true))
	past := all["past"]
	past.sendEvents(t, simulatedEvents(t, 1, 3))
	past.accepted(t, "staffing", staffing(5, true))
	past.predicted(t, time.Minute)
	return all
}
