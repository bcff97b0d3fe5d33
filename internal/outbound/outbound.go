// Package outbound is the words for what leaves the service: to whom, what it
// was, and how it went. Roles that write settings, roles that read lists, the
// notifier and the wire share them; there is no behaviour here beside checks.
//
//   - A [Webhook] is an endpoint of a partner, an entry of the settings.
//   - A [Tier] says who is called at a level, a [Recipient] is a role on duty.
//   - A [Delivery] is one event on its way to one endpoint, with its attempts.
//   - A [Command] is what an administrator asked the notifier to do.
//
// Times are UTC with milliseconds.
package outbound
