package integrations

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/acuity/catalogue"
	"svc/internal/httpapi/contract"
	"svc/readapi/web/page/pagetest"
)

const (
	worklistOf = `{"items":[{"system":"local","code":"MAGSO4-DRIP","display":"mag drip","kind":"medication","feed":"clinical","count24h":41,"countTotal":99,"rooms":[4],"status":"unmapped","suggestions":[{"factorId":"high-mag","score":94,"reason":"display_words"}]}],"total":1}`
	mapOf      = `{"mappings":[{"id":"map-1","system":"local","code":"MAGSO4-DRIP","factorId":"high-eclampsia","kind":"medication","value":null,"comment":"was wrong","version":57}],"total":1}`
	noMap      = `{"mappings":[],"total":0}`
	wouldDo    = `{"applied":true,"dryRun":true,"level":"orange","changes":[{"roomId":null,"roomLabel":null,"was":"yellow","is":"orange"},{"roomId":3,"roomLabel":"L3","was":"green","is":"red"}],"activated":[{"roomId":3,"roomLabel":"L3","factorId":"high-mag"}],"expired":[],"warnings":[]}`
	overtook   = `412 {"code":"precondition_failed","message":"It has changed."}`
	oneRule    = `{"rules":[{"factorId":"high-mag","label":"Mag","values":{"floor":"1 until 90m, 1/2"},"defaults":{"floor":"1 until 1h, 1/2"},"comment":"ours","version":7,"by":"key_a","at":"2031-04-01T00:00:00.000Z"}],"rulesVersion":"1-abc"}`
	twoTiers   = `{"tiers":[{"id":"T1","enabled":true,"recipients":[],"channels":["email"],"ackMinutes":0,"escalateTo":[],"repeatMinutes":0,"expireMinutes":120,"action":"","version":0},{"id":"T2","enabled":true,"recipients":["rcp_2","rcp_1"],"channels":["email","sms"],"ackMinutes":10,"escalateTo":[],"repeatMinutes":0,"expireMinutes":30,"action":"Call","version":3}]}`
	twoPeople  = `{"recipients":[{"id":"rcp_1","label":"Charge nurse","email":"c***@e***.org","phone":null,"webhookId":null,"language":"en","version":1},{"id":"rcp_2","label":"Supervisor","email":null,"phone":"***00","webhookId":null,"language":"es","version":2}]}`
	places     = `{"locations":[{"id":"room-9","pointOfCare":"BIRTH","room":"B9","bed":"","roomId":9,"roomLabel":"Birth 9","area":"LDR","outside":false,"primaryFactor":null,"version":5}],"unknownLocations":[{"roomId":1000001,"roomLabel":"B10","pointOfCare":"BIRTH","room":"B10"}]}`
)

const inCode = "system=local&code=MAGSO4-DRIP&kind=medication"

// local returns the pages with a fake API that has one of each object that administrators can set.
func local(t *testing.T) (*admins, *http.Cookie) {
	t.Helper()
	a := withAdmins(t)
	for path, answer := range map[string]string{
		"/api/admin/terminology/worklist?limit=50&offset=0&status=unmapped": worklistOf, "/api/admin/terminology/worklist?code=MAGSO4-DRIP": worklistOf,
		"/api/admin/terminology?limit=20000": noMap, "/api/admin/rules": oneRule, "/api/admin/alerts/tiers": twoTiers, "/api/admin/alerts/recipients": twoPeople,
		"/api/admin/webhooks": `{"webhooks":[{"id":"whk_1","url":"https://hook.example"}]}`, "/api/admin/locations": places,
		"/api/admin/alerts/episodes":                                       `{"items":[{"id":"epi_1","tier":"T2","level":"orange","openedAt":"2031-04-05T11:00:00.000Z","closedAt":null,"toldAt":null,"reason":"raised","ackedAt":null,"ackedBy":null,"unreached":true}]}`,
		"/api/ingest/status":                                               `{"status":"stale","reasons":["feed_stale"],"feeds":[{"channel":"hl7","source":"key_a","sourceName":"Epic <ADT>","lastReceivedAt":"2031-04-05T11:00:00.000Z","lastAppliedAt":"2031-04-05T11:00:00.000Z","lastEventAt":null,"expectedEverySeconds":60,"stale":true,"windows":{"24h":{"received":12,"applied":9,"rejected":3,"warnings":2,"changed":7,"unchanged":2,"unused":5,"outsideUnit":4}}}],"pipeline":{"topics":[{"name":"svc.v1.observations","lag":4,"oldestUnprocessedSeconds":9}],"processorHeartbeatAt":"2031-04-05T11:59:59.000Z","deadLetters":2},"unitState":{"unplacedPatients":1},"terminology":{"unmappedCodes":7,"unknownLocations":1}}`,
		"/api/ingest/status/key_a":                                         `{"source":"key_a","sourceName":"Epic <ADT>","feeds":[{"channel":"hl7","source":"key_a","sourceName":"Epic <ADT>","lastReceivedAt":"2031-04-05T11:00:00.000Z","windows":{"24h":{"received":12,"changed":7,"unchanged":2,"unused":5,"outsideUnit":4}},"refusals":[{"at":"2031-04-05T11:00:00.000Z","controlId":"M1003","requestId":null,"code":"AE 101","path":"PV1-19"}],"warnings":[],"routine":[{"at":"2031-04-05T11:00:00.000Z","controlId":"M1004","requestId":null,"code":"event_ignored","path":"MSH-9","eventType":"A05"}]}]}`,
		"/api/admin/dead-letters?limit=200":                                `{"items":[{"id":"0:12","topic":"svc.v1.observations","reason":"unknown_schema","schemaId":4,"at":"2031-04-05T11:00:00.000Z","retriedAt":null},{"id":"0:11","topic":"svc.v1.observations","reason":"malformed_record","schemaId":null,"at":"2031-04-05T10:00:00.000Z","retriedAt":"2031-04-05T11:30:00.000Z"}],"nextCursor":null}`,
		"/api/admin/commands/cmd_1":                                        `{"commandId":"cmd_1","verb":"test","done":true,"delivered":1,"reason":null,"deliveryId":"dlv_1"}`,
		"/api/admin/deliveries/dlv_1":                                      `{"id":"dlv_1","state":"delivered","reason":null,"attempts":[{"n":1,"at":"2031-04-05T12:00:00.000Z","ms":84,"class":"ok","status":250,"response":"2.0.0 <queued>"}]}`,
		"/api/admin/terminology/worklist?limit=50&offset=0&status=ignored": `{"items":[],"total":0}`,
	} {
		a.answers["GET "+path] = answer
	}
	a.answers["DELETE /api/admin/rules/high-mag?dryRun=true"] = wouldDo
	a.config.Administration.Operations = append(a.config.Administration.Operations, contract.Operation{
		Method: "POST", Path: "/api/ingest/hl7", Scope: "ingest:hl7", Bodies: []contract.Body{{Type: "text/plain", Examples: []contract.Example{{Text: "MSH|^~\\&|A\rEVN|A01\r"}}}},
	})
	a.config.Administration.Past = fixedPast{}
	a.mount()
	return a, a.Cookie("north", "usr_admin")
}

// TestFeedsOfUnknownRhythm: if no feed is stale, the page says that none is late only of feeds whose usual interval is
// known, and how many others there are.
func TestFeedsOfUnknownRhythm(t *testing.T) {
	t.Parallel()
	a, cookie := local(t)
	feed := func(every string) string {
		return `{"channel":"hl7","source":"key_a","lastReceivedAt":"2031-04-05T11:58:00.000Z","expectedEverySeconds":` + every + `,"windows":{"24h":{"received":1}}}`
	}
	for feeds, want := range map[string]string{
		feed("300"):                       "<p><b>No feed is late.</b></p>",
		feed("null"):                      "<p><b>1 feed cannot be judged, because its usual interval is not known yet.</b></p>",
		feed("null") + "," + feed("null"): "<p><b>2 feeds cannot be judged, because their usual intervals are not known yet.</b></p>",
		feed("300") + "," + feed("null"):  "<p><b>No feed is late. 1 feed cannot be judged, ",
		feed("60") + "," + feed("300"):    "<p><b>1 feed is past its usual interval.</b></p>",
		feed("60") + "," + feed("null"):   "<p><b>1 feed is past its usual interval. 1 feed cannot be judged, ",
		"":                                "<p>No feed has sent data yet. ",
	} {
		a.answers["GET /api/ingest/status"] = `{"status":"ok","reasons":[],"feeds":[` + feeds + `]}`
		if body := a.Ask("GET", "/app/integrations/feeds", cookie).Body.String(); !strings.Contains(body, want) || feeds == "" && strings.Contains(body, "<b></b>") {
			t.Errorf("%s: the page lacks %q: %s", feeds, want, body)
		}
	}
}

// TestFeedsWithoutData: if "nothing_recorded" is the first reason for the status, the page says that no data has been
// received. If the data about the feeds cannot be read, the page does not say that no feed has sent data.
func TestFeedsWithoutData(t *testing.T) {
	t.Parallel()
	a, cookie := local(t)
	for reasons, wants := range map[string][2]string{ // the heading, and the text that replaces the list of feeds
		`"nothing_recorded"`:              {"<b>No data has been received yet.</b></p>", "No feed has sent data yet"},
		`"feed_stale","nothing_recorded"`: {"<b>A feed has stopped sending data.</b>", "No feed has sent data yet"},
		`"view_away"`:                     {"<b>Data is not being received or processed.</b>", "Time of the last data is unknown"},
	} {
		status := map[bool]string{true: "down", false: "stale"}[strings.Contains(reasons, "away")]
		a.answers["GET /api/ingest/status"] = `{"status":"` + status + `","reasons":[` + reasons + `],"feeds":[],"pipeline":{"topics":[]}}`
		body := a.Ask("GET", "/app/integrations/feeds", cookie).Body.String()
		if !strings.Contains(body, wants[0]) || !strings.Contains(body, wants[1]) {
			t.Errorf("%s: the page lacks %q: %s", reasons, wants, body)
		}
		if strings.Contains(reasons, "away") && strings.Contains(body, "No feed has sent data") {
			t.Errorf("%s: the page states that no feed has sent data", reasons)
		}
	}
}

// TestFeedOfThePages: data that people enter on the pages has no key, so its source has a name, but no page of its own.
func TestFeedOfThePages(t *testing.T) {
	t.Parallel()
	a, cookie := local(t)
	a.answers["GET /api/ingest/status"] = `{"status":"ok","reasons":[],"feeds":[{"channel":"staffing","source":"pages",` +
		`"lastReceivedAt":"2031-04-05T11:00:00.000Z","windows":{}}],"pipeline":{"topics":[]}}`
	body := a.Ask("GET", "/app/integrations/feeds", cookie).Body.String()
	if !strings.Contains(body, "<td>svc pages</td>") || strings.Contains(body, "sources/pages") {
		t.Errorf("the page has no source named svc pages, or a link to its page: %s", body)
	}
}

type fixedPast struct{}

func (fixedPast) Try(_ context.Context, hospital string, rule catalogue.Rule) PastResult {
	if hospital != "north" || len(rule.Lines) != 1 || rule.Lines[0] != (catalogue.RuleLine{Name: "floor", Text: "2 until 90m, 1"}) {
		return PastResult{Fault: PastAway}
	}
	return PastResult{
		Ready: true, Hours: 3, Level: 90 * time.Minute, Changes: []PastChange{{Was: "yellow", Would: "red", For: 90 * time.Minute}, {Room: true, Rooms: 2, Was: "green", Would: "red", For: time.Hour}},
		Worst: []PastHour{{At: pagetest.Noon.Add(-24 * time.Hour), Was: "yellow", Would: "red", For: 50 * time.Minute}},
	}
}

// TestLocalPages requests each page about feeds, terminology, rules and alerts.
func TestLocalPages(t *testing.T) {
	t.Parallel()
	a, cookie := local(t)
	for path, wants := range map[string][]string{
		"feeds": {"Epic &lt;ADT&gt;", `<b class="late">60 min ago, no recent data</b>`, `<td class="n">12</td>`, `<td class="n">7</td>`, `<td class="n">5</td>`, "every 1 min", `href="/app/integrations/terminology"`, `href="/app/integrations/feeds/letters">2<`, `<b class="late">9 s</b>`, `data-poll="10"`},
		"feeds/sources/key_a": {
			"Source: Epic &lt;ADT&gt;", "M1003", "AE 101", "PV1-19", "Routine messages without effect", "MSH-9 A05", "need not be sent",
			`<td class="n">7</td>`, `<td class="n">2</td>`, `<td class="n">5</td>`, `<td class="n">4</td>`,
		},
		"feeds/letters":                              {"unknown schema", `action="/app/integrations/feeds/letters/0:12"`, "applied Apr\u00a05\u00a011:30"},
		"feeds/letters?reason=malformed_record":      {"malformed record", "applied Apr\u00a05\u00a011:30"},
		"feeds/connect":                              {"POST https://svc.example/api/ingest/census", "Authorization: Bearer $KEY", "Content-Type: text/plain", "MSH|^~\\&amp;|A\nEVN|A01</code>", "--mllp"},
		"terminology":                                {"MAGSO4-DRIP", "mag drip", "Magnesium sulfate", `<td class="n">41</td>`, "code=MAGSO4-DRIP", `aria-current="page">Unmapped codes`},
		"terminology?status=ignored":                 {"No codes to show."},
		"terminology/code?" + inCode:                 {`value="high-mag" checked`, "94% match: similar wording", "Ignore code", `name="version" value=""`},
		"terminology/map":                            {"No code mappings yet."},
		"terminology/import":                         {"system,code,kind,factorId,op,than,comment", `type="file"`},
		"terminology/locations":                      {"BIRTH / B9", "room 9", "Confirm", "roomId=1000001"},
		"terminology/locations/row?id=room-9":        {`name="roomId" type="text" value="9"`, `name="was.room" value="B9"`, `name="version" value="5"`},
		"terminology/locations/row?roomId=12&room=X": {`name="roomId" type="text" value="12"`, `name="version" value=""`},
		"terminology/locations/import":               {"pointOfCare,room,bed,roomId"},
		"rules":                                      {`Minimum nurses for the room: <b translate="no">1 until 90m, 1/2</b> <small>default: 1 until 1h, 1/2`, "Rules version 1-abc"},
		"rules/high-mag":                             {`name="l.floor" type="text" value="1 until 90m, 1/2"`, `name="was.l.floor" value="1 until 90m, 1/2"`, `name="version" value="7"`, "Restore defaults", `>Minimum nurses for the room</label>`, `<small><code translate="no">floor</code>, default: 1 until `},
		"rules/labor-standard":                       {`name="version" value=""`},
		"rules/high-mag/past?l.floor=2+until+90m,+1": {"The level would have been different for", `<span class="tag red">`, "2 rooms", `name="l.floor" value="2 until 90m, 1"`, "Apr\u00a04\u00a012:00"},
		"alerts":                  {"<td>English</td>", "<td>Spanish</td>", "Supervisor, Charge nurse", "c***@e***.org", "***00", `<b class="late">none</b>`, "Alerts are sent at all hours", "the same recipients"},
		"alerts/tiers/T2":         {`name="recipients" value="rcp_1" checked`, `name="was.recipients" value="rcp_2, rcp_1"`, `value="10"`},
		"alerts/recipients/new":   {`name="label"`, "https://hook.example"},
		"alerts/recipients/rcp_2": {`<option value="es" selected>Spanish</option>`},
		"alerts/recipients/rcp_1": {`<option value="en" selected>English</option>`, "Current: c***@e***.org.", `name="version" value="1"`, `name="email" type="text" value=""`},
		"alerts/tests/cmd_1":      {"Test sent and accepted.", "84 ms", "250", "2.0.0 &lt;queued&gt;"},
		"alerts/episodes":         {"no recipient reached", `action="/app/integrations/alerts/episodes/epi_1"`},
	} {
		got := a.Ask("GET", "/app/integrations/"+path, cookie)
		for _, want := range wants {
			if !strings.Contains(got.Body.String(), want) {
				t.Errorf("%s: %d lacks %s: %s", path, got.Code, want, got.Body)
			}
		}
		if bare.MatchString(got.Body.String()) {
			t.Errorf("%s lacks a text: %s", path, bare.FindString(got.Body.String()))
		}
	}
	if acts := a.acts(); len(acts) != 0 {
		t.Errorf("to look has done %+v", acts)
	}
}

// TestLocalActs: each act sends one request to the API, with the version in the form, and then redirects.
func TestLocalActs(t *testing.T) {
	t.Parallel()
	const code = inCode + "&factor=high-mag&rowkind=medication"
	for name, tt := range map[string]struct {
		path, form string
		answers    map[string]string
		want       request
		location   string // path of the redirect; "": the answer is a page
		says       string
	}{
		"preview of a code": {
			"terminology/code", code + "&do=preview",
			map[string]string{"POST /api/admin/terminology?dryRun=true": wouldDo},
			request{"POST /api/admin/terminology?dryRun=true", "", "none", `{"code":"MAGSO4-DRIP","comment":"","factorId":"high-mag","kind":"medication","system":"local"}`},
			"", `<b>L3</b>: <span class="tag green">`,
		},
		"a code": {
			"terminology/code", code + "&do=apply&comment=ours&op=%3E%3D&than=4",
			map[string]string{"POST /api/admin/terminology": `{"mappings":[]}`},
			request{"POST /api/admin/terminology", "", "none", `{"code":"MAGSO4-DRIP","comment":"ours","factorId":"high-mag","kind":"medication","system":"local","value":{"op":"\u003e=","than":4}}`},
			"terminology/code?code=MAGSO4-DRIP", "",
		},
		"another factor": {
			"terminology/code", code + "&do=apply&other=high-eclampsia&version=57",
			map[string]string{"POST /api/admin/terminology": `{"mappings":[]}`},
			request{"POST /api/admin/terminology", "", `"57"`, `{"code":"MAGSO4-DRIP","comment":"","factorId":"high-eclampsia","kind":"medication","system":"local"}`},
			"terminology/code?code=MAGSO4-DRIP", "",
		},
		"a code that is ignored": {
			"terminology/code", inCode + "&do=ignore",
			map[string]string{"POST /api/admin/terminology/worklist/ignore": `{}`, "GET /api/admin/terminology/worklist?code=MAGSO4-DRIP&status=ignored": worklistOf},
			request{"POST /api/admin/terminology/worklist/ignore", "", "", `{"codes":[{"code":"MAGSO4-DRIP","kind":"medication","system":"local"}]}`},
			"terminology?status=ignored", "",
		},
		"a mapping that is taken back": {
			"terminology/map/map-1", inCode + "&do=remove&version=57",
			map[string]string{"DELETE /api/admin/terminology/map-1": `{}`},
			request{"DELETE /api/admin/terminology/map-1", "", `"57"`, ""},
			"terminology/map", "",
		},
		"what that would change": {
			"terminology/map/map-1", inCode + "&do=preview&version=57",
			map[string]string{"DELETE /api/admin/terminology/map-1?dryRun=true": wouldDo},
			request{"DELETE /api/admin/terminology/map-1?dryRun=true", "", `"57"`, ""},
			"", "<b>L3</b>",
		},
		"a table of codes": {
			"terminology/import", "rows=system,code,factorId%0Alocal,A,high-mag&do=apply&version=4503599627370497",
			map[string]string{"POST /api/admin/terminology": `{"mappings":[]}`},
			request{"POST /api/admin/terminology", "", `"4503599627370497"`, `{"mappings":[{"system":"local","code":"A","factorId":"high-mag"}]}`},
			"terminology/map", "",
		},
		"a table with a fault of the API": {
			"terminology/import", "rows=system,code,factorId%0A%0Alocal,A,nope&do=preview",
			map[string]string{"POST /api/admin/terminology?dryRun=true": `422 {"code":"unprocessable","message":"No.","details":[{"path":"mappings[0].factorId","rule":"factor"}]}`},
			request{"POST /api/admin/terminology?dryRun=true", "", "", `{"mappings":[{"system":"local","code":"A","factorId":"nope"}]}`},
			"", "line 3: factorId: ",
		},
		"a location": {
			"terminology/locations/row", "pointOfCare=BIRTH&room=B10&roomId=10&do=apply",
			map[string]string{"POST /api/admin/locations": `{"id":"room-9"}`},
			request{"POST /api/admin/locations", "", "none", `{"pointOfCare":"BIRTH","room":"B10","roomId":10}`},
			"terminology/locations", "",
		},
		"a location, previewed": {
			"terminology/locations/row", "pointOfCare=ICU&outside=true&do=preview",
			map[string]string{"POST /api/admin/locations?dryRun=true": wouldDo},
			request{"POST /api/admin/locations?dryRun=true", "", "none", `{"outside":true,"pointOfCare":"ICU"}`},
			"", "<b>L3</b>",
		},
		"a location that is removed": {
			"terminology/locations/row/room-8", "version=5",
			map[string]string{"DELETE /api/admin/locations/room-8": `{}`},
			request{"DELETE /api/admin/locations/room-8", "", `"5"`, ""},
			"terminology/locations", "",
		},
		"a table of locations": {
			"terminology/locations/import", "rows=pointOfCare,outside%0AICU,true&do=apply&version=4503599627370497",
			map[string]string{"POST /api/admin/locations": `{}`},
			request{"POST /api/admin/locations", "", `"4503599627370497"`, `{"locations":[{"pointOfCare":"ICU","outside":true}]}`},
			"terminology/locations", "",
		},
		"a rule, previewed": {
			"rules/high-mag", "l.floor=2+until+90m,+1&version=7&do=preview",
			map[string]string{"PUT /api/admin/rules/high-mag?dryRun=true": wouldDo},
			request{"PUT /api/admin/rules/high-mag?dryRun=true", "", `"7"`, `{"comment":"","values":{"floor":"2 until 90m, 1"}}`},
			"", `href="/app/integrations/rules/high-mag/past?l.floor=2`,
		},
		"a rule": {
			"rules/high-mag", "l.floor=&version=3&comment=ours&do=apply",
			map[string]string{"PUT /api/admin/rules/high-mag": `{}`},
			request{"PUT /api/admin/rules/high-mag", "", `"3"`, `{"comment":"ours","values":{"floor":null}}`},
			"rules", "",
		},
		"a rule that is taken back": {
			"rules/labor-standard", "version=7&do=reset",
			map[string]string{"DELETE /api/admin/rules/labor-standard": `{}`},
			request{"DELETE /api/admin/rules/labor-standard", "", `"7"`, ""},
			"rules", "",
		},
		"a tier keeps its order": {
			"alerts/tiers/T2", "enabled=true&recipients=rcp_1&recipients=rcp_2&recipients=rcp_3&was.recipients=rcp_2,+rcp_1&channels=sms&ackMinutes=5&repeatMinutes=x&version=3",
			map[string]string{"PUT /api/admin/alerts/tiers/T2": `{"version":3}`},
			request{"PUT /api/admin/alerts/tiers/T2", "", `"3"`, `{"ackMinutes":5,"action":"","channels":["sms"],"enabled":true,"escalateTo":[],"recipients":["rcp_2","rcp_1","rcp_3"],"repeatMinutes":"x"}`},
			"alerts", "",
		},
		"a recipient": {
			"alerts/recipients/new", "label=Charge&email=c%40example.org&webhookId=whk_1&language=es",
			map[string]string{"POST /api/admin/alerts/recipients": `{"id":"rcp_1","version":1}`},
			request{"POST /api/admin/alerts/recipients", "", "", `{"email":"c@example.org","label":"Charge","language":"es","webhookId":"whk_1"}`},
			"alerts", "",
		},
		"a recipient that changes": {
			"alerts/recipients/rcp_1", "label=Charge&email=&phone=&drop.phone=true&version=1",
			map[string]string{"PATCH /api/admin/alerts/recipients/rcp_1": `{"id":"rcp_1","version":1}`},
			request{"PATCH /api/admin/alerts/recipients/rcp_1", "", `"1"`, `{"label":"Charge","phone":null,"webhookId":null}`},
			"alerts", "",
		},
		"a recipient that is removed": {
			"alerts/recipients/rcp_3/remove", "version=1",
			map[string]string{"DELETE /api/admin/alerts/recipients/rcp_3": `{}`},
			request{"DELETE /api/admin/alerts/recipients/rcp_3", "", `"1"`, ""},
			"alerts", "",
		},
		"a test": {
			"alerts/recipients/rcp_1/test", "channel=email",
			map[string]string{"POST /api/admin/alerts/test": `{"commandId":"cmd_1"}`},
			request{"POST /api/admin/alerts/test", "", "", `{"channel":"email","recipientId":"rcp_1"}`},
			"alerts/tests/cmd_1", "",
		},
		"an episode": {
			"alerts/episodes/epi_1", "",
			map[string]string{"POST /api/admin/alerts/episodes/epi_1/ack": `{}`},
			request{"POST /api/admin/alerts/episodes/epi_1/ack", "", "", `{}`},
			"alerts/episodes", "",
		},
		"a record that cannot be read yet": {
			"feeds/letters/0:12", "",
			map[string]string{"POST /api/admin/dead-letters/0:12/retry": `422 {"code":"unprocessable","message":"Not readable.","details":[{"path":"","rule":"unknown_schema"}]}`},
			request{"POST /api/admin/dead-letters/0:12/retry", "", "", ""},
			"", "0:12 was not applied: Another release wrote this record.",
		},
		"records": {
			"feeds/letters", "id=0:12",
			map[string]string{"POST /api/admin/dead-letters/0:12/retry": `{}`, "GET /api/admin/dead-letters/0:12": `{"retriedAt":"2031-04-05T12:00:00.000Z"}`},
			request{"POST /api/admin/dead-letters/0:12/retry", "", "", ""},
			"feeds/letters", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, cookie := local(t)
			maps.Copy(a.answers, tt.answers)
			tt.want.Token = "Bearer north/usr_admin"
			got := a.Ask("POST", "/app/integrations/"+tt.path, cookie, tt.form)
			if acts := a.acts(); len(acts) != 1 || acts[0] != tt.want {
				t.Errorf("asked %+v, want %+v", acts, tt.want)
			}
			if tt.location != "" && (got.Code != http.StatusSeeOther || !strings.HasPrefix(got.Header().Get("Location"), "/app/integrations/"+tt.location)) {
				t.Errorf("%d to %q: %s", got.Code, got.Header().Get("Location"), got.Body)
			}
			if tt.location == "" && (got.Header().Get("Location") != "" || !strings.Contains(got.Body.String(), tt.says)) {
				t.Errorf("%d lacks %q: %s", got.Code, tt.says, got.Body)
			}
		})
	}
}

// bare matches the placeholder that the pages show for a missing text.
var bare = regexp.MustCompile(`\[[a-z]+(\.[a-z0-9-]+)+\]`)
