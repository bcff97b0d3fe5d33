// Package outbound is the vocabulary of what leaves the service. It says to whom
// something goes, what it is and how it went. The roles that write settings or read
// lists share it with the notifier and the codec. It has no behaviour besides checks.
//
//   - A [Webhook] is an endpoint of a partner, an entry of the settings.
//   - A [Tier] says who is called at a level, a [Recipient] is a role on duty.
//   - A [Delivery] is one event on its way to one endpoint, with its attempts.
//   - A [Command] is what an administrator asked the notifier to do.
//
// Times are UTC with milliseconds.
package outbound
