package alert

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/internal/outbound"
	"svc/notifier/policy"
)

var update = flag.Bool("update", false, "rewrite testdata")

var (
	zone = time.FixedZone("CST", -6*60*60)
	at   = time.Date(2026, 3, 1, 14, 5, 0, 0, zone)
)

func raised() Alert {
	return Alert{
		Reason: policy.Raised, Tier: 2, Unit: "L&D", At: at, Level: acuity.LevelOrange, Prior: acuity.LevelYellow,
		Effect: acuity.Effect{
			Kind: acuity.LevelChanged, Level: acuity.LevelOrange, Prior: acuity.LevelYellow,
			Driving: acuity.AxisStaffing, Ratio: 84, Shortfall: 2,
		},
		Rooms: &Rooms{
			Open: 1, Top: []Room{
				{ID: 4, Label: "LDR 4", Color: acuity.ColorRed, Nursing: "2:1"},
				{ID: 12, Label: "Canary, Anna", Color: acuity.ColorOrange, Nursing: "1:1"},
				{ID: 7, Label: "301: O14.13", Color: acuity.ColorYellow, Nursing: "1:2"},
			},
			Peak: &Peak{At: at.Add(4 * time.Hour), Nurses: 10.5},
		},
		AlertRun: "epi_0123456789abcdef", Action: "Call the float pool;\nhold inductions.", AckURL: "https://svc.example/a/7KQ2M9XW3PTD",
	}
}

func alerts() map[string]Alert {
	with := func(change func(*Alert)) Alert {
		a := raised()
		change(&a)
		return a
	}
	return map[string]Alert{
		"raised": raised(),
		"lowered": with(func(a *Alert) {
			a.Reason, a.Tier, a.Level, a.Prior, a.Effect.Level = policy.Lowered, 1, acuity.LevelYellow, acuity.LevelOrange, acuity.LevelYellow
			a.Effect.Shortfall = 1
		}),
		"cleared": with(func(a *Alert) {
			a.Reason, a.Tier, a.Level, a.Prior, a.Effect.Level = policy.Cleared, 0, acuity.LevelGreen, acuity.LevelOrange, acuity.LevelGreen
			a.AckURL, a.Action, a.Effect.Shortfall = "", "", 0
		}),
		"digest": with(func(a *Alert) { a.Reason, a.Worst = policy.Digest, acuity.LevelRed }),
		"digest-green": with(func(a *Alert) {
			a.Reason, a.Tier, a.Level, a.Worst, a.Effect.Level = policy.Digest, 0, acuity.LevelGreen, acuity.LevelRed, acuity.LevelGreen
			a.AckURL, a.Action, a.Effect.Shortfall = "", "", 0
		}),
		"escalated": with(func(a *Alert) { a.Reason, a.Rooms = policy.Escalated, nil }),
		"repeated": with(func(a *Alert) {
			a.Reason, a.Tier, a.Level, a.Effect.Level, a.Effect.Ratio = policy.Repeated, 3, acuity.LevelRed, acuity.LevelRed, -1
			a.Effect.Driving, a.Effect.Shortfall, a.Rooms.Peak = acuity.AxisCritical, 0, nil
		}),
		"long": with(func(a *Alert) {
			a.Unit = "Saint Elizabeth Women's and Newborn Pavilion, Łódź\r\nBcc: x"
			a.AckURL = "https://acuity.maternity.saint-elizabeth.example.org/a/7KQ2M9XW3PTD"
		}),
	}
}

// TestGolden compares the text of alerts, in each language, with golden files, byte for byte. The event is the
// same in all languages.
func TestGolden(t *testing.T) {
	for _, language := range slices.Sorted(maps.Keys(allTexts)) {
		ending := map[bool]string{true: "", false: "." + language}[language == defaultLanguage]
		for name, a := range alerts() {
			t.Run(language+" "+name, func(t *testing.T) {
				mail, err := a.Mail(language)
				if err != nil {
					t.Fatal(err)
				}
				text := "SMS: " + a.SMS(language) + "\n\nSubject: " + mail.Subject + "\n\n" + mail.Text
				if language == defaultLanguage {
					e, err := a.Event("mercy", 7, "")
					if err != nil {
						t.Fatal(err)
					}
					text += "\n" + string(e.Body) + "\n"
				}
				compareGolden(t, name+ending+".txt", text)
				if name == "raised" {
					compareGolden(t, name+ending+".html", mail.HTML)
				}
			})
		}
		t.Run(language+" tests and notices", func(t *testing.T) {
			mail, err := TestMail(language, "L&D", at)
			if err != nil {
				t.Fatal(err)
			}
			notice, err := (&Notice{Unit: "L&D", Endpoint: "whk_01", Host: "partner.example", State: "failing_1h", Since: at.Add(-time.Hour), At: at}).Mail(language)
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, "other"+ending+".txt", TestSMS(language, "L&D", at)+"\n\n"+mail.Subject+"\n\n"+mail.Text+"\n"+notice.Subject+"\n\n"+notice.Text)
		})
	}
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
	}
}

// TestNoCanary: no alert shows the name of a person, a diagnosis code or a factor, even if room labels contain names
// and codes.
func TestNoCanary(t *testing.T) {
	for name, a := range alerts() {
		a.Rooms = raised().Rooms
		a.Effect.RoomLabel, a.Effect.Factors = "Canary", []catalogue.Factor{1, 2}
		e, err := a.Event("mercy", 1, "")
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string]string{"event": string(e.Body)}
		for _, language := range slices.Sorted(maps.Keys(allTexts)) {
			mail, err := a.Mail(language)
			if err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(mail.Subject, "\r\n") {
				t.Errorf("%s, %s: a subject of two lines", name, language)
			}
			texts["sms "+language], texts["mail "+language] = a.SMS(language), mail.Subject+mail.Text+mail.HTML
		}
		for what, text := range texts {
			for _, canary := range []string{"Canary", "O14", a.Effect.Factors[0].ID(), a.Effect.Factors[1].ID()} {
				if strings.Contains(text, canary) {
					t.Errorf("%s, %s: %q is in it", name, what, canary)
				}
			}
		}
	}
}

// TestSMSFits: an alert with its link fits into one SMS, whatever the name of the unit.
func TestSMSFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := raised()
		a.Unit = rapid.String().Draw(t, "unit")
		a.Reason = rapid.SampledFrom(policy.Reasons()[:6]).Draw(t, "reason")
		a.Level, a.Worst = acuity.Level(rapid.IntRange(0, 3).Draw(t, "level")), acuity.Level(rapid.IntRange(0, 3).Draw(t, "worst"))
		a.Effect.Driving = acuity.Axis(rapid.IntRange(0, acuity.AxisCount-1).Draw(t, "axis"))
		a.Effect.Shortfall = rapid.Int32Range(0, 99).Draw(t, "short")
		a.AckURL = "https://" + strings.Repeat("x", rapid.IntRange(1, 72).Draw(t, "host")) + "/a/7KQ2M9XW3PTD"
		sms := a.SMS(rapid.SampledFrom(slices.Sorted(maps.Keys(allTexts))).Draw(t, "language"))
		if n := septets(sms); n > maxSMS {
			t.Fatalf("%d units: %s", n, sms)
		}
		if gsm(sms) != sms {
			t.Fatalf("beyond the alphabet: %q", sms)
		}
		if !strings.HasSuffix(sms, a.AckURL) {
			t.Fatalf("without the link: %s", sms)
		}
	})
}

// TestAxisGoesBeforeTheName: if an SMS is too long, the text of the axis is omitted before the unit's name is
// truncated.
func TestAxisGoesBeforeTheName(t *testing.T) {
	a := raised()
	a.Effect.Driving = acuity.AxisReserve
	a.Unit = strings.Repeat("N", maxUnit)
	for _, language := range slices.Sorted(maps.Keys(allTexts)) {
		axis := gsm(a.axis(textsIn(language)))
		if short := raised(); !strings.Contains(short.SMS(language), gsm(short.axis(textsIn(language)))) {
			t.Fatalf("without the axis: %s", short.SMS(language))
		}
		for n := range 80 {
			a.AckURL = "https://" + strings.Repeat("x", n) + ".example/a/7KQ2M9XW3PTD"
			sms := a.SMS(language)
			if hasAxis, whole := strings.Contains(sms, axis), strings.Contains(sms, a.Unit); hasAxis && !whole {
				t.Fatalf("the name was cut before the axis: %s", sms)
			}
		}
	}
}

func TestGSM(t *testing.T) {
	for in, want := range map[string]string{"L&D": "L&D", "Łódź": "?odz", "Ñandú": "Ñandu", "産科": "??", "a{b": "a{b", "x\u0301": "x", "e\u0301": "é"} {
		if got := strings.TrimRight(gsm(in), "?"); got != strings.TrimRight(want, "?") {
			t.Errorf("gsm(%q) = %q, want %q", in, got, want)
		}
	}
	if n := septets("a{€"); n != 5 {
		t.Errorf("septets = %d", n)
	}
}

// TestEventIsStable: the id of an event depends on the decision and its number, but not on its time. The event's data
// has the fields of surge.level_changed and those of an alert.
func TestEventIsStable(t *testing.T) {
	a := raised()
	one, err := a.Event("mercy", 7, "")
	if err != nil {
		t.Fatal(err)
	}
	other, err := a.Event("mercy", 8, "")
	if err != nil {
		t.Fatal(err)
	}
	if one.ID == other.ID || one.ID != a.EventID("mercy", 7) || one.Event != outbound.Alert {
		t.Errorf("ids %s, %s", one.ID, other.ID)
	}
	later := raised()
	later.At = later.At.Add(time.Minute)
	worse := raised()
	worse.Tier, worse.Level = 3, acuity.LevelRed
	if later.EventID("mercy", 7) != one.ID || worse.EventID("mercy", 7) == one.ID {
		t.Error("the id does not tell what was decided, or tells when")
	}
	var body struct{ Data map[string]any }
	if err := json.Unmarshal(one.Body, &body); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{
		"level", "priorLevel", "drivingAxis", "drivingAxisLabel", "nurseAcuityRatio", "ratioShortfall", "cause",
		"tier", "reason", "episodeId", "openRooms", "topRooms", "peak", "action", "ackUrl", "worstLevel",
	} {
		if _, ok := body.Data[field]; !ok {
			t.Errorf("data has no %s", field)
		}
	}
}

// TestNothingDrivesGreen: an alert at green shows its reason and no axis.
func TestNothingDrivesGreen(t *testing.T) {
	a := raised()
	a.Reason, a.Level, a.Effect = policy.Digest, acuity.LevelGreen, effectAt(acuity.LevelGreen)
	for language, want := range map[string]string{"en": "Level changing often", "es": "Nivel inestable"} {
		mail, err := a.Mail(language)
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{"subject": mail.Subject, "mail": mail.Text, "SMS": a.SMS(language)} {
			if !strings.Contains(text, want) || strings.Contains(text, textsIn(language).text("field.cause")) || strings.Contains(text, a.axis(textsIn(language))) {
				t.Errorf("%s: %s", what, text)
			}
		}
	}
}

func effectAt(level acuity.Level) acuity.Effect {
	return acuity.Effect{Kind: acuity.LevelChanged, Level: level, Ratio: 100}
}
