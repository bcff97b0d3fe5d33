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

// AlertsCommand returns the command svc alerts, which manages a hospital's alerts through the API.
func AlertsCommand(w Env) *cobra.Command {
	c := &cobra.Command{
		Use: "alerts", Short: "administer the recipients and tiers of alerts",
		Long: `add prints only the id. test and retry exit with code 1 unless the message was
delivered.`,
	}
	tier := verb(w, "set-tier TIER", "change the tier T1, T2 or T3; omitted values are unchanged", setTier, tierFields, ifVersion)
	tier.ValidArgs = []string{"T1", "T2", "T3"}
	c.AddCommand(
		verb(w, "tiers", "list the tiers", list(alertsPath+"/tiers", "tiers", printTiers)),
		tier,
		verb(w, "recipients", "list the recipients", list(alertsPath+"/recipients", "recipients", printRecipients)),
		verb(w, "add", "add a recipient, and print its id",
			request(http.MethodPost, alertsPath+"/recipients", printID("%s")), recipientFields),
		verb(w, "set RECIPIENT", "change a recipient; an omitted value stays unchanged, an empty value removes the stored one",
			request(http.MethodPatch, recipientPath, func(c *client, r *recipientData) error {
				c.warn(r.Warnings)
				return printRecipients(c, []recipientData{*r})
			}), recipientFields, ifVersion),
		verb(w, "remove RECIPIENT", "remove a recipient", request(http.MethodDelete, recipientPath, printID("removed %s")), ifVersion),
		verb(w, "test RECIPIENT", "send a test message, and wait for the outcome", order(alertsPath+"/test"), idField("recipientId"),
			fields(field{"channel", "channel", "email, sms or webhook", wordField("email", "sms", "webhook")}), required("channel"),
			waitFor(time.Minute)),
		verb(w, "deliveries [DELIVERY]", "list deliveries, including those to webhooks, or show one delivery", showDeliveries, deliveryFilters),
		verb(w, "retry DELIVERY", "send a delivery again, and wait for the outcome", order(deliveryPath+"/retry"), waitFor(time.Minute)),
		verb(w, "episodes", "list alert episodes with their acknowledgments", list(alertsPath+"/episodes", "items", printEpisodes)),
		verb(w, "ack EPISODE", "acknowledge an alert",
			request(http.MethodPost, alertsPath+"/episodes/{id}/ack", printAcknowledged),
			fields(field{"by", "by", "`role` that acknowledges (default: the key)", filledField})),
	)
	return c
}

var tierFields = fields(
	field{"enabled", "enabled", "true or false", truthField},
	field{"recipients", "recipients", "`ids` of the recipients, separated by commas, in the order of notification", listField},
	field{"channels", "channels", "`channels`: email, sms, webhook, separated by commas", listField},
	field{"ack", "ackMinutes", "`minutes` until an unacknowledged alert escalates; 0: no acknowledgment is required", wholeField},
	field{"escalate-to", "escalateTo", "`ids` of the recipients of an escalation (default: those of the next tier)", listField},
	field{"repeat", "repeatMinutes", "`minutes` between repeats of an unacknowledged alert; 0: no repeats", wholeField},
	field{"expire", "expireMinutes", "`minutes` after which an unsent message is dropped", wholeField},
	field{"action", "action", "the hospital's `instructions`", textField},
)

var recipientFields = fields(
	field{"label", "label", "`role`, never a person's name", nullField},
	field{"email", "email", "e-mail `address`", nullField},
	field{"phone", "phone", "`number` for SMS, such as +15555550100", nullField},
	field{"webhook", "webhookId", "`id` of a webhook that receives surge.alert for this role", nullField},
	field{"language", "language", "language of e-mails and SMS: en or es", wordField("en", "es")},
)

// tierData is a tier as the API represents it.
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

// setTier replaces the settings of a tier. A setting whose flag is not given keeps its value. If the tier changes
// between the read and the write, setTier writes nothing and returns an error.
func setTier(ctx context.Context, c *client) error {
	if err := c.requireField(); err != nil {
		return err
	}
	var all struct{ Tiers []tierData }
	if err := c.askInto(ctx, http.MethodGet, alertsPath+"/tiers", nil, &all); err != nil {
		return err
	}
	i := slices.IndexFunc(all.Tiers, func(t tierData) bool { return t.ID == c.id })
	if i < 0 {
		return Usage(fmt.Errorf("unknown tier %q; the tiers are T1, T2 and T3", c.id))
	}
	t := &all.Tiers[i]
	c.version = cmp.Or(c.version, strconv.FormatInt(t.Version, 10))
	body := map[string]any{
		"enabled": t.Enabled, "recipients": t.Recipients, "channels": t.Channels, "ackMinutes": t.AckMinutes, "escalateTo": t.EscalateTo,
		"repeatMinutes": t.RepeatMinutes, "expireMinutes": t.ExpireMinutes, "action": t.Action,
	}
	if err := c.addFields(body); err != nil {
		return err
	}
	return show(ctx, c, http.MethodPut, alertsPath+"/tiers/{id}", body, func(c *client, set *tierData) error {
		c.warn(set.Warnings)
		return printTiers(c, []tierData{*set})
	})
}

// recipientData is a recipient as the API represents it.
type recipientData struct {
	ID, Label, Language     string
	Email, Phone, WebhookID *string
	Version                 int64
	Warnings                []warningData
}

func printRecipients(c *client, all []recipientData) error {
	return printTable(c, all, func(r *recipientData) []any {
		return []any{r.ID, r.Label, orDash(r.Email), orDash(r.Phone), orDash(r.WebhookID), r.Language, r.Version}
	}, "ID", "ROLE", "E-MAIL", "PHONE", "WEBHOOK", "LANGUAGE", "VERSION")
}

// episodeData is an alert from its beginning to its end, as the API represents it.
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
			taken = "requested by " + *e.AckBy
		}
		if e.Unreached && e.AckedAt == nil {
			taken += ", no recipient was reached"
		}
		if e.ClosedAt != nil {
			closed = *e.ClosedAt
		}
		return []any{e.ID, e.Tier, e.Level, e.OpenedAt, closed, shownOr(e.ToldAt) + " " + e.Reason, taken}
	}, "ID", "TIER", "LEVEL", "OPENED", "CLOSED", "LAST NOTIFIED", "ACKNOWLEDGED")
}

func printAcknowledged(c *client, done *struct {
	CommandID string
	Done      bool
},
) error {
	if !done.Done {
		return fmt.Errorf("the acknowledgment was accepted but not processed yet; see svc alerts episodes (command %s)",
			done.CommandID)
	}
	return c.Printf("acknowledged %s\n", c.id)
}
