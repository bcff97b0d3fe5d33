package integrations

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/readapi/web/apicall"
	"svc/readapi/web/page"
)

const alertsAPI = "/api/admin/alerts"

func alertsSection() *section {
	return &section{
		name: "alerts", counts: true,
		shows: map[string]func(*adminRequest){
			"": forSection(showAlertsAdmin), "/tiers/{id}": forSection(showTier), "/recipients/new": forSection(askForRecipient), "/recipients/{id}": forSection(showRecipient),
			"/tests/{id}": forSection(showAlertTest), "/episodes": forSection(showEpisodes),
		},
		acts: map[string]act{
			"/tiers/{id}": {do: forSection(setTier)}, "/recipients/new": {do: forSection(addRecipient)}, "/recipients/{id}": {do: forSection(changeRecipient)},
			"/recipients/{id}/remove": {do: forSection(removeRecipient)}, "/recipients/{id}/test": {do: forSection(testRecipient)}, "/episodes/{id}": {do: forSection(takeEpisode)},
		},
	}
}

// apiTier is a tier as the API tells it.
type apiTier struct {
	ID                               string
	Enabled                          bool
	Recipients, Channels, EscalateTo []string
	AckMinutes                       int
	RepeatMinutes                    int
	ExpireMinutes                    int
	Action                           string
	Version                          int64
}

// apiRecipient is a recipient as the API tells it, with masked addresses.
type apiRecipient struct {
	ID, Label               string
	Email, Phone, WebhookID *string
	Version                 int64
}

// alertsAdminPage shows who is told at which level.
type alertsAdminPage struct {
	adminPage
	Tabs       []adminLink
	Tiers      []tierLine
	Recipients []recipientRow
}

type tierLine struct {
	ID, Link, Channels, Recipients, EscalateTo string
	Level                                      colored
	Ack, Repeat, Expire, Action                string
	Enabled, Nobody                            bool
}

type recipientRow struct {
	ID, Label, Email, Phone, Webhook, Link string
	Channels                               []option // that a test can use
}

// listTabs returns the links to the pages of the section.
func (d alertsRequest) listTabs(current string) []adminLink {
	return []adminLink{
		{Name: d.T("tiers"), Path: d.pathTo(), Current: current == ""},
		{Name: d.T("episodes"), Path: d.pathTo("episodes"), Current: current == "episodes"},
	}
}

// tierLevels are the levels at which the people of a tier are told.
var tierLevels = map[string]string{"T1": "yellow", "T2": "orange", "T3": "red"}

func (d alertsRequest) readRecipients() (all []apiRecipient, ok bool) {
	var list struct{ Recipients []apiRecipient }
	_, ok = d.read(alertsAPI+"/recipients", &list)
	return list.Recipients, ok
}

func (d alertsRequest) readTiers() (all []apiTier, ok bool) {
	var list struct{ Tiers []apiTier }
	_, ok = d.read(alertsAPI+"/tiers", &list)
	return list.Tiers, ok
}

func showAlertsAdmin(d alertsRequest) {
	d.showAlertsAdmin(http.StatusOK, nil)
}

func (d alertsRequest) showAlertsAdmin(status int, refused *apicall.Refusal) {
	tiers, ok := d.readTiers()
	if !ok {
		return
	}
	people, ok := d.readRecipients()
	if !ok {
		return
	}
	out := alertsAdminPage{adminPage: d.newPage("int.alerts"), Tabs: d.listTabs("")}
	out.Act = &adminLink{Name: d.T("recipients.new"), Path: d.pathTo("recipients", "new")}
	out.Refused = d.newForm(nil, refused).listRefusals()
	for i := range tiers {
		out.Tiers = append(out.Tiers, d.newTierLine(&tiers[i], people))
	}
	for i := range people {
		out.Recipients = append(out.Recipients, d.newRecipientRow(&people[i]))
	}
	d.show(status, "alerts.list", &out)
}

func (d alertsRequest) newTierLine(t *apiTier, people []apiRecipient) tierLine {
	var channels []string
	for _, channel := range t.Channels {
		channels = append(channels, d.Or("channel."+channel, channel))
	}
	line := tierLine{
		ID: t.ID, Link: d.pathTo("tiers", t.ID), Level: d.newColored(tierLevels[t.ID]), Channels: strings.Join(channels, ", "), Recipients: joinLabels(t.Recipients, people),
		EscalateTo: joinLabels(t.EscalateTo, people), Ack: d.formatMinutes(t.AckMinutes), Repeat: d.formatMinutes(t.RepeatMinutes), Expire: d.formatMinutes(t.ExpireMinutes),
		Action: t.Action, Enabled: t.Enabled, Nobody: t.Enabled && len(t.Recipients) == 0,
	}
	if len(t.EscalateTo) == 0 && t.AckMinutes > 0 {
		line.EscalateTo = d.T("tiers.nexttier")
	}
	return line
}

// joinLabels returns the names of recipients, in the order in which they are told.
func joinLabels(ids []string, people []apiRecipient) string {
	var names []string
	for _, id := range ids {
		name := id
		for i := range people {
			if people[i].ID == id {
				name = people[i].Label
			}
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// formatMinutes writes a limit of a tier; 0: there is none.
func (d alertsRequest) formatMinutes(n int) string {
	if n == 0 {
		return "–"
	}
	return d.T("age.min", "n", n)
}

// tierPage is one tier.
type tierPage struct {
	adminPage
	Tabs               []adminLink
	ID                 string
	Version            string
	Level              colored
	Form               *form
	Recipients, Others []option // people who are told first, and people who are told if nobody answers
	Channels           []option
}

var channelsOfAlerts = []string{"email", "sms", "webhook"}

func listTierValues(t *apiTier) url.Values {
	v := url.Values{
		"recipients": t.Recipients, "channels": t.Channels, "escalateTo": t.EscalateTo, "action": {t.Action},
		"ackMinutes": {strconv.Itoa(t.AckMinutes)}, "repeatMinutes": {strconv.Itoa(t.RepeatMinutes)}, "expireMinutes": {strconv.Itoa(t.ExpireMinutes)},
	}
	if t.Enabled {
		v.Set("enabled", "true")
	}
	return v
}

// tierFields are the fields of a tier with the keys of their labels.
var tierFields = [][2]string{
	{"enabled", "tiers.enabled"},
	{"recipients", "tiers.recipients"},
	{"channels", "tiers.channels"},
	{"ackMinutes", "tiers.ack"},
	{"escalateTo", "tiers.escalate"},
	{"repeatMinutes", "tiers.repeat"},
	{"expireMinutes", "tiers.expire"},
	{"action", "tiers.action"},
}

func showTier(d alertsRequest) { d.showTier(http.StatusOK, nil) }

func (d alertsRequest) showTier(status int, refused *apicall.Refusal) {
	tiers, ok := d.readTiers()
	if !ok {
		return
	}
	at := slices.IndexFunc(tiers, func(t apiTier) bool { return t.ID == d.pathID() })
	if at < 0 {
		d.showNotFound()
		return
	}
	people, ok := d.readRecipients()
	if !ok {
		return
	}
	now := listTierValues(&tiers[at])
	out := tierPage{adminPage: d.newPage("tiers.tier"), Tabs: d.listTabs(""), ID: d.pathID(), Version: strconv.FormatInt(tiers[at].Version, 10), Level: d.newColored(tierLevels[d.pathID()])}
	out.Heading = d.T("tiers.of", "tier", d.pathID(), "level", out.Level.Word)
	out.Form = d.newForm(now, refused)
	out.Form.was = now
	var names []string
	for _, f := range tierFields {
		names = append(names, f[0])
	}
	out.Refused = out.Form.listRefusals(names...)
	if refused.IsOvertaken() {
		out.Refused, out.Changed = []string{d.T("int.overtaken")}, d.compareValues(now, tierFields...)
	}
	for i := range people {
		p := &people[i]
		out.Recipients = append(out.Recipients, option{p.ID, p.Label, out.Form.Has("recipients", p.ID)})
		out.Others = append(out.Others, option{p.ID, p.Label, out.Form.Has("escalateTo", p.ID)})
	}
	for _, channel := range channelsOfAlerts {
		out.Channels = append(out.Channels, option{channel, d.Or("channel."+channel, channel), out.Form.Has("channels", channel)})
	}
	d.show(status, "alerts.tier", &out)
}

// keepOrder returns the chosen ids in the order that they had before, then the new ones.
func keepOrder(chosen, before []string) []string {
	out := []string{}
	for _, id := range before {
		if slices.Contains(chosen, id) {
			out = append(out, id)
		}
	}
	for _, id := range chosen {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

func setTier(d alertsRequest) {
	f, tier := d.r.PostForm, d.pathID()
	before := func(name string) []string { return strings.Split(f.Get("was."+name), ", ") }
	body := map[string]any{
		"enabled": f.Get("enabled") == "true", "recipients": keepOrder(f["recipients"], before("recipients")),
		"escalateTo": keepOrder(f["escalateTo"], before("escalateTo")), "channels": append([]string{}, f["channels"]...), "action": strings.TrimSpace(f.Get("action")),
	}
	for _, name := range []string{"ackMinutes", "repeatMinutes", "expireMinutes"} {
		if n := parseNumber(f.Get(name)); n != nil {
			body[name] = n
		}
	}
	var set apiTier
	refused, ok := d.send(http.MethodPut, alertsAPI+"/tiers/"+url.PathEscape(tier), d.formVersion(), body, &set)
	switch {
	case refused != nil:
		d.showTier(refused.PageStatus(), refused)
	case ok:
		d.waitUntil(func() bool {
			var list struct{ Tiers []apiTier }
			return d.fetch(alertsAPI+"/tiers", &list) == nil && slices.ContainsFunc(list.Tiers, func(t apiTier) bool { return t.ID == tier && t.Version >= set.Version })
		})
		d.leaveNotice(d.pathTo(), "tiers.done", "tier", tier)
	}
}

// apiEpisode is an alert with those who were told, as the API tells it.
type apiEpisode struct {
	ID, Tier, Level, Reason             string
	OpenedAt, ClosedAt, AckedAt, ToldAt *time.Time
	AckedBy                             *string
	Round                               int
	Unreached                           bool
}

type episodesPage struct {
	adminPage
	Tabs  []adminLink
	Rows  []episodeRow
	Pager pager
}

type episodeRow struct {
	ID, Tier, Opened, Closed, Why, Taken string
	Level                                colored
	Open, Unreached                      bool
}

func showEpisodes(d alertsRequest) { d.showEpisodes(http.StatusOK, nil) }

func (d alertsRequest) showEpisodes(status int, refused *apicall.Refusal) {
	var list struct{ Items []apiEpisode }
	if _, ok := d.read(alertsAPI+"/episodes", &list); !ok {
		return
	}
	out := episodesPage{adminPage: d.newPage("episodes"), Tabs: d.listTabs("episodes")}
	out.Refused = d.newForm(nil, refused).listRefusals()
	if refused == nil { // else the path is that of an act
		out.Poll, out.Refresh = feedsPoll, page.RefreshSeconds
	}
	first, last, p := d.cutToPage(len(list.Items))
	out.Pager = p
	for i := range list.Items[first:last] {
		e := &list.Items[first+i]
		row := episodeRow{
			ID: e.ID, Tier: e.Tier, Level: d.newColored(e.Level), Opened: d.formatTime(e.OpenedAt), Closed: d.formatTime(e.ClosedAt), Unreached: e.Unreached,
			Why: d.Or("episodes.reason."+e.Reason, e.Reason), Open: e.ClosedAt == nil && e.AckedAt == nil,
		}
		if e.AckedAt != nil {
			row.Taken = strings.TrimSpace(d.formatTime(e.AckedAt) + " " + textOrEmpty(e.AckedBy))
		}
		out.Rows = append(out.Rows, row)
	}
	d.show(status, "alerts.episodes", &out)
}

func takeEpisode(d alertsRequest) {
	refused, ok := d.send(http.MethodPost, alertsAPI+"/episodes/"+url.PathEscape(d.pathID())+"/ack", "", map[string]any{}, nil)
	switch {
	case refused != nil:
		d.showEpisodes(refused.PageStatus(), refused)
	case ok:
		d.leaveNotice(d.pathTo("episodes"), "episodes.done")
	}
}
