package web_test

import (
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/score"
	"svc/readapi/web/text"
)

// TestRoomStatesWhatIsDoubtful: the page of a room has every reason for which the API says that the verdict on the
// room may be unreliable.
func TestRoomStatesWhatIsDoubtful(t *testing.T) {
	c := unit()
	bare := bed(1, "L1", "Labor", "high-mag@50h") // without a type of patient, and not updated for two days
	bare.Patients[0].UnnamedFetus = true
	other := bed(1, "L1", "Labor", "labor-standard@2h").Patients[0]
	shared := bed(2, "L2", "Labor", "labor-standard@2h")
	shared.Patients = append(shared.Patients, other)
	c.Rooms = []acuity.RoomChart{bare, shared}
	w := newWard(t, c)
	v := score.Judge(c, acuity.At(half))
	en := text.In("en")
	wants := map[string]string{
		"primary_assumed": en.T("room.assumed"), "double_occupied": "Two patients have been in this room for 15 minutes or more; both count.",
		"evidence_stale": en.T("quality.evidence_stale"), "fetus_unnamed": en.T("quality.fetus_unnamed"),
	}
	seen := map[string]bool{}
	for i := range v.Rooms {
		_, page := w.page([]string{"/app/rooms/1", "/app/rooms/2"}[i], "en")
		for _, q := range v.Rooms[i].Quality().List() {
			seen[q.Code] = true
			if want := wants[q.Code]; want == "" || strings.Count(page, want) != 1 {
				t.Errorf("the page of room %d does not say once why: %s", i+1, q.Code)
			}
		}
	}
	if len(seen) != len(wants) {
		t.Errorf("only %d reasons were tested", len(seen))
	}
}

// TestRoomNamesTheFetus: the page of a room names the fetus that a report is about, as the API does.
func TestRoomNamesTheFetus(t *testing.T) {
	c := unit()
	c.Rooms = []acuity.RoomChart{bed(1, "L1", "Labor", "labor-standard@2h", "labor-fhr-cat-iii@5m", "labor-fhr-cat-ii@9m")}
	evidence := c.Rooms[0].Patients[0].Evidence
	evidence[1].Fetus, evidence[2].Fetus = "B", strings.Repeat("0", 16) // only a reference
	w := newWard(t, c)
	for language, want := range map[string]string{"en": "fetus B, labor-fhr-cat-iii", "es": "feto B, labor-fhr-cat-iii"} {
		_, page := w.page("/app/rooms/1", language)
		if words := readWords(page, "<main", ""); !strings.Contains(words, want) || strings.Contains(words, evidence[2].Fetus) {
			t.Errorf("%s: the page does not say %q", language, want)
		}
	}
}
