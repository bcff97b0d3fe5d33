package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	alertsPath    = "/api/admin/alerts"
	recipientPath = alertsPath + "/recipients/{id}"
)

// AlertsCommand is svc alerts: it administers the alerts of a hospital through its
// API.
func AlertsCommand(w Env) *cobra.Command {
	c := &cobra.Command{
		Use: "alerts", Short: "administer who is alerted, by which channel",
		Long: `add prints the id alone. test and retry end with exit code 1 unless it was
delivered.`,
	}
	tier := verb(w, "set-tier TIER", "change the tier T1, T2 or T3; what is not given stays", setTier, tierFields, ifVersion)
	tier.ValidArgs = []string{"T1", "T2", "T3"}
	c.AddCommand(
		verb(w, "tiers", "list the tiers", list(alertsPath+"/tiers", "tiers", printTiers)),
		tier,
		verb(w, "recipients", "list the recipients", list(alertsPath+"/recipients", "recipients", printRecipients)),
		verb(w, "add", "add a recipient, and print its id",
			request(http.MethodPost, alertsPath+"/recipients", printID("%s")), recipientFields),
		verb(w, "set RECIPIENT", "change a recipient; what is not given stays, what is given empty is taken away",
			request(http.MethodPatch, recipientPath, alone(printRecipients)), recipientFields, ifVersion),
		verb(w, "remove RECIPIENT", "remove a recipient", request(http.MethodDelete, recipientPath, printID("removed %s")), ifVersion),
		verb(w, "test RECIPIENT", "send a message, and wait for the outcome", order(alertsPath+"/test"), idField("recipientId"),
			fields(field{"channel", "channel", "email, sms or webhook", wordField("email", "sms", "webhook")}), required("channel"),
			waitFor(time.Minute)),
		verb(w, "deliveries [DELIVERY]", "list what was sent, to webhooks too, or show one delivery", showDeliveries, deliveryFilters),
		verb(w, "retry DELIVERY", "send again, and wait for the outcome", order(deliveryPath+"/retry"), waitFor(time.Minute)),
		verb(w, "episodes", "list when people were told, and who has taken it", list(alertsPath+"/episodes", "items", printEpisodes)),
		verb(w, "ack EPISODE", "say that somebody has taken it",
			request(http.MethodPost, alertsPath+"/episodes/{id}/ack", printAcknowledged),
			fields(field{"by", "by", "the `role` that has taken it (default: the key)", filledField})),
	)
	return c
}

var tierFields = fields(
	field{"enabled", "enabled", "true or false", truthField},
	field{"recipients", "recipients", "`ids` of those who are told, separated by commas, in this order", listField},
	field{"channels", "channels", "`channels`: email, sms, webhook, separated by commas", listField},
	field{"ack", "ackMinutes", "`minutes` until an alert that nobody has taken escalates; 0: none has to be taken", wholeField},
	field{"escalate-to", "escalateTo", "`ids` of those who are told then (default: those of the next tier)", listField},
	field{"repeat", "repeatMinutes", "`minutes` after which it is told again if nobody has taken it; 0: never", wholeField},
	field{"expire", "expireMinutes", "`minutes` after which a message that could not be sent is not sent any more", wholeField},
	field{"action", "action", "what is to be done, in the `words` of the hospital", textField},
)

var recipientFields = fields(
	field{"label", "label", "the `role`, never a person by name", nullField},
	field{"email", "email", "e-mail `address`", nullField},
	field{"phone", "phone", "`number` for SMS, as +15555550100", nullField},
	field{"webhook", "webhookId", "`id` of a webhook that gets surge.alert for this role", nullField},
)

// tierData is a tier in the form of the API.
type tierData struct {
	ID            string
	Enabled       bool
	Recipients    []string
	Channels      []string
	AckMinutes    int
	EscalateTo    []string
	RepeatMinutes int
	ExpireMinutes int
	Action        string
	Version       int64
	Warnings      []warningData
}

func printTiers(c *client, all []tierData) error {
	minutes := func(n int) string {
		if n == 0 {
			return "-"
		}
		return strconv.Itoa(n) + " min"
	}
	return printTable(c, all, func(t *tierData) []any {
		return []any{
			t.ID, t.Enabled, strings.Join(t.Channels, ","), cmp.Or(strings.Join(t.Recipients, ","), "-"), minutes(t.AckMinutes),
			cmp.Or(strings.Join(t.EscalateTo, ","), "-"), minutes(t.RepeatMinutes), minutes(t.ExpireMinutes), t.Version, t.Action,
		}
	}, "TIER", "ENABLED", "CHANNELS", "RECIPIENTS", "ACK", "ESCALATES TO", "REPEATS", "EXPIRES", "VERSION", "ACTION")
}

// setTier sets a whole tier. Values without a flag stay. If the tier changes between the read and
// the write, nothing is set.
func setTier(ctx context.Context, c *client) error {
	var all struct{ Tiers []tierData }
	if err := c.into(ctx, http.MethodGet, alertsPath+"/tiers", nil, &all); err != nil {
		return err
	}
	i := slices.IndexFunc(all.Tiers, func(t tierData) bool { return t.ID == c.id })
	if i < 0 {
		return Usage(fmt.Errorf("no tier %q; there are T1, T2 and T3", c.id))
	}
	t := &all.Tiers[i]
	c.version = cmp.Or(c.version, strconv.FormatInt(t.Version, 10))
	body := map[string]any{
		"enabled": t.Enabled, "recipients": t.Recipients, "channels": t.Channels, "ackMinutes": t.AckMinutes, "escalateTo": t.EscalateTo,
		"repeatMinutes": t.RepeatMinutes, "expireMinutes": t.ExpireMinutes, "action": t.Action,
	}
	if err := c.put(body); err != nil {
		return err
	}
	return show(ctx, c, http.MethodPut, alertsPath+"/tiers/{id}", body, func(c *client, set *tierData) error {
		c.warn(set.Warnings)
		return printTiers(c, []tierData{*set})
	})
}

// recipientData is a recipient as the API has it.
type recipientData struct {
	ID, Label               string
	Email, Phone, WebhookID *string
	Version                 int64
}

func printRecipients(c *client, all []recipientData) error {
	return printTable(c, all, func(r *recipientData) []any {
		return []any{r.ID, r.Label, orDash(r.Email), orDash(r.Phone), orDash(r.WebhookID), r.Version}
	}, "ID", "ROLE", "E-MAIL", "PHONE", "WEBHOOK", "VERSION")
}

// episodeData is an alert from its beginning to its end, in the form of the API.
type episodeData struct {
	ID, Tier, Level, Reason, OpenedAt         string
	ClosedAt, ToldAt, AckBy, AckedAt, AckedBy *string
	Unreached                                 bool
}

func printEpisodes(c *client, all []episodeData) error {
	return printTable(c, all, func(e *episodeData) []any {
		taken, closed := "-", "open"
		switch {
		case e.AckedAt != nil:
			taken = *e.AckedAt + " by " + shownOr(e.AckedBy)
		case e.AckBy != nil && e.ClosedAt == nil:
			taken = "wanted by " + *e.AckBy
		}
		if e.Unreached && e.AckedAt == nil {
			taken += ", nobody was reached"
		}
		if e.ClosedAt != nil {
			closed = *e.ClosedAt
		}
		return []any{e.ID, e.Tier, e.Level, e.OpenedAt, closed, shownOr(e.ToldAt) + " " + e.Reason, taken}
	}, "ID", "TIER", "LEVEL", "OPENED", "CLOSED", "LAST TOLD", "TAKEN")
}

func printAcknowledged(c *client, done *struct {
	CommandID string
	Done      bool
},
) error {
	if !done.Done {
		return fmt.Errorf("the answer is kept, but the notifier has not taken it up yet; svc alerts episodes shows when it has (command %s)",
			done.CommandID)
	}
	return c.Printf("acknowledged %s\n", c.id)
}
