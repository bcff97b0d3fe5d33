package subscribers

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"svc/internal/httpapi"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
	"svc/internal/outbound/subscriber"
)

const actTierSet = "alert-tier.set"

func tierWrites() []contract.Route[*alerts] {
	return []contract.Route[*alerts]{{Operation: contract.Operation{
		Method: http.MethodPut, Path: "/api/admin/alerts/tiers/{tier}", ID: "putAlertTier",
		Summary: "Set the recipients of a tier",
		About: "T1 is yellow, T2 orange, T3 red. " +
			"Omitted fields get the default of the tier. A tier without recipients notifies no one." + unchangedAbout,
		Parameters: []contract.Parameter{
			{Name: "tier", In: "path", About: "T1, T2 or T3.", Values: subscriber.TierIDs(), Example: "T2"}, ifMatch,
		},
		Bodies: body(tierShape{}, contract.Example{
			Name: "By e-mail and SMS, to be acknowledged within ten minutes",
			Text: `{"enabled":true,"channels":["email","sms"],"ackMinutes":10,"expireMinutes":30,"action":"Call the house supervisor"}`,
		}),
		Data: setTier{}, Tagged: true, Refuses: []problem.Kind{problem.Missing, problem.Precondition, problem.Unprocessable},
	}, Serve: (*alerts).putTier}}
}

func tierReads() []contract.Route[*alerts] {
	return []contract.Route[*alerts]{{Operation: contract.Operation{
		Method: http.MethodGet, Path: "/api/admin/alerts/tiers", ID: "listAlertTiers", Summary: "List the tiers", Data: tierList{},
	}, Serve: (*alerts).listTiers}}
}

type tierShape struct {
	Enabled       *bool    `json:"enabled,omitempty" doc:"Default true."`
	Recipients    []string `json:"recipients,omitempty" maxItems:"50" uniqueItems:"true" doc:"Ids of recipients, in the order of notification."`
	Channels      []string `json:"channels,omitempty" minItems:"1" maxItems:"3" enum:"email,sms,webhook" uniqueItems:"true"`
	AckMinutes    *int     `json:"ackMinutes,omitempty" minimum:"0" maximum:"1440" doc:"Minutes until an unacknowledged alert escalates; 0: no acknowledgment is required."`
	EscalateTo    []string `json:"escalateTo,omitempty" maxItems:"50" uniqueItems:"true" doc:"Ids of recipients. Default: those of the next tier."`
	RepeatMinutes *int     `json:"repeatMinutes,omitempty" minimum:"0" maximum:"1440" doc:"Minutes between repeats of an unacknowledged alert; 0: no repeats."`
	ExpireMinutes *int     `json:"expireMinutes,omitempty" minimum:"1" maximum:"1440" doc:"Minutes after which an unsent message is dropped."`
	Action        *string  `json:"action,omitempty" pattern:"line" maxLength:"200" doc:"The hospital's instructions, without names of patients or other people."`
}

type tierRow struct {
	ID            string   `json:"id"`
	Enabled       bool     `json:"enabled"`
	Recipients    []string `json:"recipients"`
	Channels      []string `json:"channels"`
	AckMinutes    int      `json:"ackMinutes"`
	EscalateTo    []string `json:"escalateTo"`
	RepeatMinutes int      `json:"repeatMinutes"`
	ExpireMinutes int      `json:"expireMinutes"`
	Action        string   `json:"action"`
	Version       int64    `json:"version"` // also the entity tag; 0: the tier has its defaults
}

type setTier struct {
	tierRow
	Warnings []httpapi.Warning `json:"warnings"`
}

type tierList struct {
	Tiers []tierRow `json:"tiers"`
}

func tierRowOf(t *subscriber.Tier) tierRow {
	row := tierRow{
		ID: t.ID, Enabled: t.Enabled, Recipients: append([]string{}, t.Recipients...), Channels: []string{}, AckMinutes: t.AckMinutes,
		EscalateTo: append([]string{}, t.EscalateTo...), RepeatMinutes: t.RepeatMinutes,
		ExpireMinutes: t.ExpireMinutes, Action: t.Action, Version: t.Version,
	}
	for _, channel := range t.Channels {
		row.Channels = append(row.Channels, string(channel))
	}
	return row
}

func (s *alerts) listTiers(w http.ResponseWriter, r *http.Request) {
	list := tierList{Tiers: []tierRow{}}
	for _, t := range s.Register.Tiers(hospitalOf(r)) {
		list.Tiers = append(list.Tiers, tierRowOf(&t))
	}
	httpapi.OK(w, r, list)
}

func (s *alerts) putTier(w http.ResponseWriter, r *http.Request) {
	hospital, id := hospitalOf(r), httpapi.PathValue(r, "tier")
	tier := subscriber.DefaultTier(hospital, id)
	in := tierShape{
		Enabled: &tier.Enabled, AckMinutes: &tier.AckMinutes, RepeatMinutes: &tier.RepeatMinutes, ExpireMinutes: &tier.ExpireMinutes,
		Action: &tier.Action,
	}
	warnings, ok := httpapi.ReadJSON(w, r, maxBody, &in) // changes only the fields that the body contains
	if !ok {
		return
	}
	seen, end := s.begin()
	defer end()
	at := slices.Index(subscriber.TierIDs(), id)
	if at < 0 {
		missing(w, r)
		return
	}
	old := s.Register.Tiers(hospital)[at]
	tier.Version = old.Version + 1
	tier.Recipients, tier.EscalateTo = in.Recipients, in.EscalateTo
	if in.Channels != nil {
		tier.Channels = nil
		for _, name := range in.Channels {
			tier.Channels = append(tier.Channels, subscriber.Channel(name))
		}
	}
	if f := faultsOf(&in); f.answered(w, r) || !requireMatch(w, r, old.Version) {
		return
	}
	tier.Action = strings.TrimSpace(tier.Action)
	for i, id := range slices.Concat(tier.Recipients, tier.EscalateTo) {
		if _, known := s.Register.Recipient(hospital, id); !known {
			path := item("recipients", i)
			if i >= len(tier.Recipients) {
				path = item("escalateTo", i-len(tier.Recipients))
			}
			unprocessable(w, r, "The recipient does not exist.", path, "recipient")
			return
		}
	}
	if len(tier.Recipients) == 0 && tier.Enabled {
		warnings = append(warnings, httpapi.Warning{Code: "no_recipients", Path: "recipients"})
	}
	if sameTierSettings(&tier, &old) {
		answer(w, r, old.Version, setTier{tierRowOf(&old), append(warnings, unchanged)})
		return
	}
	put := func(ctx context.Context) error { return s.Store.PutTier(ctx, seen, &tier) }
	if s.perform(w, r, actTierSet, id, old.Version, tier.Version, put) {
		answer(w, r, tier.Version, setTier{tierRowOf(&tier), warnings})
	}
}

// sameTierSettings reports whether two versions of a tier have the same settings.
func sameTierSettings(a, b *subscriber.Tier) bool {
	return a.Enabled == b.Enabled && slices.Equal(a.Recipients, b.Recipients) && slices.Equal(a.Channels, b.Channels) &&
		a.AckMinutes == b.AckMinutes && slices.Equal(a.EscalateTo, b.EscalateTo) && a.RepeatMinutes == b.RepeatMinutes &&
		a.ExpireMinutes == b.ExpireMinutes && a.Action == b.Action
}
