package subscribers

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
	"svc/internal/outbound"
)

const actAlertAck = "alert.ack"

func episodeWrites() []contract.Route[*alerts] {
	return []contract.Route[*alerts]{{Operation: contract.Operation{
		Method: http.MethodPost, Path: "/api/admin/alerts/episodes/{id}/ack", ID: "acknowledgeAlert", Part: access.Acknowledge,
		Summary: "Acknowledge an alert",
		About: "Stops escalation and repeats until the level rises again. " +
			"The response is sent when the list of episodes shows the acknowledgment; " +
			"done is false if that takes more than two seconds; the command then shows the outcome later.",
		Parameters: []contract.Parameter{idOf("episode", "epi_0123456789abcdef")},
		Bodies:     optionalBody(ackShape{}, contract.Example{Name: "By a role", Text: `{"by":"House supervisor"}`}),
		Data:       acknowledged{}, Refuses: []problem.Kind{problem.Missing, problem.Unprocessable},
	}, Serve: (*alerts).acknowledge}}
}

func episodeReads() []contract.Route[*alerts] {
	return []contract.Route[*alerts]{{Operation: contract.Operation{
		Method: http.MethodGet, Path: "/api/admin/alerts/episodes", ID: "listEpisodes", Summary: "List alert episodes, newest first",
		About: "An episode begins when the unit leaves green and ends when its recipients have been notified that the unit " +
			"is green again.", Data: episodeList{},
	}, Serve: (*alerts).listEpisodes}}
}

type ackShape struct {
	By    string `json:"by,omitempty" pattern:"line" maxLength:"60" doc:"Role that acknowledges. Default: the key."`
	Alert string `json:"alertId,omitempty" maxLength:"64" doc:"Id of the alert to acknowledge, from the list. Default: the newest."`
}

type acknowledged struct {
	CommandID string            `json:"commandId"`
	Done      bool              `json:"done"` // whether the episode already shows the effect of the command
	Warnings  []httpapi.Warning `json:"warnings"`
}

type episodeRow struct {
	ID       string       `json:"id"`
	Tier     string       `json:"tier"`  // tier of the last alert
	Level    string       `json:"level"` // current level, or the level at the end of the episode
	OpenedAt httpapi.Time `json:"openedAt"`
	ClosedAt httpapi.Time `json:"closedAt"` // null: the episode is open
	ToldAt   httpapi.Time `json:"toldAt"`
	Reason   string       `json:"reason"`  // reason of the last alert
	Round    int          `json:"round"`   // number of the escalation round
	AckBy    httpapi.Time `json:"ackBy"`   // deadline for an acknowledgment; null: none is needed
	AckedAt  httpapi.Time `json:"ackedAt"` // null: not acknowledged
	AckedBy  *string      `json:"ackedBy"`
	AlertID  *string      `json:"alertId"` // the alert to acknowledge
	// Unreached reports that all messages of the last alert have failed, or that there was no recipient.
	Unreached bool `json:"unreached"`
}

type episodeList struct {
	Items []episodeRow `json:"items"`
}

func (s *alerts) listEpisodes(w http.ResponseWriter, r *http.Request) {
	all, err := s.Lists.Episodes(r.Context(), hospitalOf(r))
	if err != nil {
		s.failUnavailable(w, r, err)
		return
	}
	slices.SortStableFunc(all, func(a, b outbound.AlertRun) int { return b.OpenedAt.Compare(a.OpenedAt) })
	list := episodeList{Items: make([]episodeRow, len(all))}
	for i := range all {
		e := &all[i]
		list.Items[i] = episodeRow{
			e.ID, e.Tier, e.Level, httpapi.Time(e.OpenedAt), httpapi.Time(e.ClosedAt), httpapi.Time(e.ToldAt), e.Reason, e.Round,
			httpapi.Time(e.AckBy), httpapi.Time(e.AckedAt), some(e.AckedBy), some(e.Alert), e.Unreached,
		}
	}
	httpapi.OK(w, r, list)
}

func (s *alerts) acknowledge(w http.ResponseWriter, r *http.Request) {
	var in ackShape
	warnings, ok := httpapi.ReadOptionalJSON(w, r, maxBody, &in)
	if !ok {
		return
	}
	if f := faultsOf(&in); f.answered(w, r) {
		return
	}
	in.By = strings.TrimSpace(in.By)
	all, err := s.Lists.Episodes(r.Context(), hospitalOf(r))
	at := slices.IndexFunc(all, func(e outbound.AlertRun) bool { return e.ID == pathID(r) })
	switch {
	case at < 0:
		s.requireListed(w, r, false, err)
		return
	case !all[at].ClosedAt.IsZero():
		unprocessable(w, r, "The episode has ended; no action is needed.", "", "closed")
		return
	}
	c := s.newCommand(r, outbound.VerbAck)
	c.Episode, c.EventID = all[at].ID, cmp.Or(in.Alert, all[at].Alert)
	if in.By != "" {
		c.By = in.By
	}
	if !s.order(w, r, actAlertAck, c.Episode, c) {
		return
	}
	p, _ := Await(r.Context(), s.Lists, c, func(p *outbound.Progress) bool { return p.Done })
	if p.Done && p.Reason != "" {
		unprocessable(w, r, "The level has risen since, or the episode has ended; acknowledge the newest alert.", "alertId", p.Reason)
		return
	}
	httpapi.OK(w, r, acknowledged{c.ID, p.Done, warnings})
}
