package integrations

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/readapi/web/page"
)

const alertsAPI = "/api/admin/alerts"

func alertsSection() *section {
	return &section{
		name: "alerts", counts: true,
		shows: map[string]handler{
			"": {serve: showAlertsAdmin}, "/tiers/{id}": {serve: showTier}, "/recipients/new": {serve: showRecipient},
			"/recipients/{id}": {serve: showRecipient}, "/tests/{id}": {serve: showAlertTest}, "/episodes": {serve: showEpisodes},
		},
		acts: map[string]handler{
			"/tiers/{id}": {serve: setTier}, "/recipients/new": {serve: saveRecipient}, "/recipients/{id}": {serve: saveRecipient},
			"/recipients/{id}/remove": {serve: removeRecipient}, "/recipients/{id}/test": {serve: testRecipient},
			"/episodes/{id}": {serve: acknowledgeEpisode},
		},
	}
}

// apiTier is a tier in an API response.
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

var tierList = list[apiTier]{alertsAPI + "/tiers", "tiers"}

// alertsAdminPage shows who is notified at which level.
type alertsAdminPage struct {
	adminPage
	Tiers      []tierLine
	Recipients []recipientRow
}

type tierLine struct {
	ID, Link, Channels, Recipients, EscalateTo string
	Unaddressed                                string // text that names the recipients without an address for the channels
	Level                                      colored
	Ack, Repeat, Expire, Action                string
	Enabled, Nobody                            bool
}

// listAlertTabs returns the links between the two lists of the alerts section: tiers and episodes.
func listAlertTabs(d *adminRequest, current string) []adminLink {
	return []adminLink{
		{Name: d.T("tiers"), Path: d.pathTo(), Current: current == ""},
		{Name: d.T("episodes"), Path: d.pathTo("episodes"), Current: current == "episodes"},
	}
}

// tierLevels maps each tier to the lowest level at which the tier's recipients are notified.
var tierLevels = map[string]string{"T1": "yellow", "T2": "orange", "T3": "red"}

func showAlertsAdmin(d *adminRequest) {
	tiers, ok := tierList.read(d)
	if !ok {
		return
	}
	people, ok := recipientList.read(d)
	if !ok {
		return
	}
	out := alertsAdminPage{adminPage: d.newPage("int.alerts")}
	out.Tabs, out.Act = listAlertTabs(d, ""), &adminLink{Name: d.T("recipients.new"), Path: d.pathTo("recipients", "new")}
	for i := range tiers {
		out.Tiers = append(out.Tiers, newTierLine(d, tiers, i, people))
	}
	for i := range people {
		out.Recipients = append(out.Recipients, newRecipientRow(d, &people[i]))
	}
	d.show("alerts.list", &out)
}

// nameEscalation returns a text that says to whom the tier with index i escalates if it has no escalation recipients.
// An alert then escalates to the recipients of the next higher tier that is enabled and has recipients. If there is
// no such tier, the recipients of the enabled tiers up to this one are notified again.
func nameEscalation(d *adminRequest, tiers []apiTier, i int) string {
	for _, above := range tiers[i+1:] {
		if above.Enabled && len(above.Recipients) > 0 {
			return d.T("tiers.recipientsof", "tier", above.ID)
		}
	}
	for _, t := range tiers[:i+1] {
		if t.Enabled && len(t.Recipients) > 0 {
			return d.T("tiers.again")
		}
	}
	return d.T("tiers.nobody")
}

// listNotified returns the ids of the recipients whom an alert of a tier notifies, and a text that names these
// recipients. If a tier has no recipients, its alerts notify the recipients of the enabled tiers below it.
func listNotified(d *adminRequest, tiers []apiTier, i int, people []apiRecipient) (ids []string, names string) {
	if ids = tiers[i].Recipients; len(ids) > 0 {
		return ids, joinLabels(ids, people)
	}
	var below []string
	for _, t := range tiers[:i] {
		if t.Enabled && len(t.Recipients) > 0 {
			ids, below = append(ids, t.Recipients...), append(below, t.ID)
		}
	}
	return ids, d.T("tiers.recipientsof", "tier", strings.Join(below, ", "))
}

// listUnaddressed returns the recipients that have no address for any of the channels, without duplicates.
func listUnaddressed(ids, channels []string, people []apiRecipient) (all []string) {
	for _, id := range ids {
		p := findRow(people, func(p *apiRecipient) bool { return p.ID == id })
		if p == nil || slices.Contains(all, id) {
			continue
		}
		addresses := map[string]*string{"email": p.Email, "sms": p.Phone, "webhook": p.WebhookID}
		if !slices.ContainsFunc(channels, func(channel string) bool { return addresses[channel] != nil }) {
			all = append(all, id)
		}
	}
	return all
}

func newTierLine(d *adminRequest, tiers []apiTier, i int, people []apiRecipient) tierLine {
	t := &tiers[i]
	var channels []string
	for _, channel := range t.Channels {
		channels = append(channels, d.Or("channel."+channel, channel))
	}
	notified, names := listNotified(d, tiers, i, people)
	line := tierLine{
		ID: t.ID, Link: d.pathTo("tiers", t.ID), Level: newColored(d, tierLevels[t.ID]), Action: t.Action,
		Channels: strings.Join(channels, ", "), Recipients: names, EscalateTo: joinLabels(t.EscalateTo, people),
		Ack: formatMinutes(d, t.AckMinutes), Repeat: formatMinutes(d, t.RepeatMinutes), Expire: formatMinutes(d, t.ExpireMinutes),
		Enabled: t.Enabled, Nobody: t.Enabled && len(notified) == 0,
	}
	if without := listUnaddressed(notified, t.Channels, people); t.Enabled && len(without) > 0 {
		line.Unaddressed = d.T("tiers.noaddress", "names", joinLabels(without, people))
	}
	if len(t.EscalateTo) == 0 && t.AckMinutes > 0 {
		line.EscalateTo = nameEscalation(d, tiers, i)
	}
	return line
}

// joinLabels returns the names of the recipients with the given ids, in the same order, as one text. A recipient that is
// not in people is named by its id.
func joinLabels(ids []string, people []apiRecipient) string {
	var names []string
	for _, id := range ids {
		name := id
		if p := findRow(people, func(p *apiRecipient) bool { return p.ID == id }); p != nil {
			name = p.Label
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// formatMinutes formats a tier's time limit in minutes; 0 means no limit.
func formatMinutes(d *adminRequest, n int) string {
	if n == 0 {
		return "–"
	}
	return d.T("age.min", "n", n)
}

// tierPage shows one tier.
type tierPage struct {
	adminPage
	ID                 string
	Level              colored
	Recipients, Others []option // options for the recipients who are notified first, and for those of the escalation
	Channels           []option
}

var channelsOfAlerts = []string{"email", "sms", "webhook"}

func listTierValues(t *apiTier) url.Values {
	v := url.Values{
		"recipients": t.Recipients, "channels": t.Channels, "escalateTo": t.EscalateTo, "action": {t.Action},
		"ackMinutes": {strconv.Itoa(t.AckMinutes)}, "repeatMinutes": {strconv.Itoa(t.RepeatMinutes)},
		"expireMinutes": {strconv.Itoa(t.ExpireMinutes)},
	}
	if t.Enabled {
		v.Set("enabled", "true")
	}
	return v
}

// tierFields are the form fields of a tier.
var tierFields = []formField{
	{name: "enabled", label: "tiers.enabled"},
	{name: "recipients", label: "tiers.recipients"},
	{name: "channels", label: "tiers.channels"},
	{name: "ackMinutes", label: "tiers.ack"},
	{name: "escalateTo", label: "tiers.escalate"},
	{name: "repeatMinutes", label: "tiers.repeat"},
	{name: "expireMinutes", label: "tiers.expire"},
	{name: "action", label: "tiers.action"},
}

func showTier(d *adminRequest) {
	t, ok := tierList.find(d, func(t *apiTier) bool { return t.ID == d.pathID() })
	if !ok {
		return
	}
	people, ok := recipientList.read(d)
	if !ok {
		return
	}
	out := tierPage{adminPage: d.newPage("tiers.tier"), ID: t.ID, Level: newColored(d, tierLevels[t.ID])}
	out.Tabs, out.Version = listAlertTabs(d, ""), formatVersion(t.Version)
	out.Heading = d.T("tiers.of", "tier", t.ID, "level", out.Level.Word)
	now := listTierValues(t)
	d.useForm(&out.adminPage, now, now, tierFields...)
	for i := range people {
		p := &people[i]
		out.Recipients = append(out.Recipients, option{p.ID, p.Label, out.Form.Has("recipients", p.ID)})
		out.Others = append(out.Others, option{p.ID, p.Label, out.Form.Has("escalateTo", p.ID)})
	}
	for _, channel := range channelsOfAlerts {
		out.Channels = append(out.Channels, option{channel, d.Or("channel."+channel, channel), out.Form.Has("channels", channel)})
	}
	d.show("alerts.tier", &out)
}

// keepOrder returns the selected ids. Ids that were selected before keep their order; the new ids follow.
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

func setTier(d *adminRequest) {
	f, tier := d.r.PostForm, d.pathID()
	before := func(name string) []string { return strings.Split(f.Get("was."+name), ", ") }
	body := map[string]any{
		"enabled": f.Get("enabled") == "true", "action": strings.TrimSpace(f.Get("action")), "channels": append([]string{}, f["channels"]...),
		"recipients": keepOrder(f["recipients"], before("recipients")), "escalateTo": keepOrder(f["escalateTo"], before("escalateTo")),
	}
	for _, name := range []string{"ackMinutes", "repeatMinutes", "expireMinutes"} {
		if n := parseNumber(f.Get(name)); n != nil {
			body[name] = n
		}
	}
	var set apiTier
	if !d.do(http.MethodPut, alertsAPI+"/tiers/"+url.PathEscape(tier), d.formVersion(), body, &set, showTier) {
		return
	}
	tierList.wait(d, true, func(t *apiTier) bool { return t.ID == tier && t.Version >= set.Version })
	d.leaveNotice(d.pathTo(), "tiers.done", "tier", tier)
}

// apiEpisode is an alert with the recipients that were notified, in an API response.
type apiEpisode struct {
	ID, Tier, Level, Reason             string
	OpenedAt, ClosedAt, AckedAt, ToldAt *time.Time
	AckedBy                             *string
	Round                               int
	Unreached                           bool
}

type episodesPage struct {
	adminPage
	Rows []episodeRow
}

type episodeRow struct {
	ID, Tier, Opened, Closed, Why, Taken string
	Level                                colored
	Open, Unreached                      bool
}

func newEpisodeRow(d *adminRequest, e *apiEpisode) episodeRow {
	row := episodeRow{
		ID: e.ID, Tier: e.Tier, Level: newColored(d, e.Level), Opened: d.formatTime(e.OpenedAt), Closed: d.formatTime(e.ClosedAt),
		Unreached: e.Unreached, Why: d.Or("episodes.reason."+e.Reason, e.Reason), Open: e.ClosedAt == nil && e.AckedAt == nil,
	}
	if e.AckedAt != nil {
		row.Taken = strings.TrimSpace(d.formatTime(e.AckedAt) + " " + textOrEmpty(e.AckedBy))
	}
	return row
}

func showEpisodes(d *adminRequest) {
	all, ok := list[apiEpisode]{alertsAPI + "/episodes", "items"}.read(d)
	if !ok {
		return
	}
	out := episodesPage{adminPage: d.newPage("episodes")}
	out.Tabs = listAlertTabs(d, "episodes")
	if d.refused == nil { // after an error, the URL is that of the submitted form, which cannot be reloaded
		out.Poll, out.Refresh = feedsPoll, page.RefreshSeconds
	}
	out.Rows = newRows(d, &out.adminPage, all, newEpisodeRow)
	d.show("alerts.episodes", &out)
}

func acknowledgeEpisode(d *adminRequest) {
	if d.do(http.MethodPost, alertsAPI+"/episodes/"+url.PathEscape(d.pathID())+"/ack", "", map[string]any{}, nil, showEpisodes) {
		d.leaveNotice(d.pathTo("episodes"), "episodes.done")
	}
}
