// Package notifier tells those who asked of every committed change of a verdict:
// machines each change in order, people damped alerts.
//
//   - An [outbound.Event] is made of each effect of a change and stored in the
//     ledger before anything is sent of it.
//   - A lane is one endpoint: the events of its hospital in the order of the
//     ledger, one under way, the next when the one before is final.
//   - A letter is a mail or an SMS, which [People] wrote.
//   - A term is one ownership of a partition: the fold of its ledger, the work,
//     and the end, after which nothing is written any more.
//
// Nothing is lost: the position in the verdicts is committed only behind events
// that are in the ledger. What was accepted and not yet noted is sent again: the
// same id, the same bytes.
package notifier
