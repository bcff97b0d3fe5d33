package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/internal/outbound"
)

// Notifier is the metrics of the notifier. Their labels have closed sets of values: no
// endpoint, no hospital.
type Notifier struct {
	events, attempts, deliveries, decisions *prometheus.CounterVec
	seconds                                 *prometheus.HistogramVec
	accepted                                prometheus.Histogram
	waiting                                 *prometheus.GaugeVec
}

// Notifier registers the metrics of the notifier.
func (m *Registry) Notifier() *Notifier {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "svc_notify_" + name, Help: help}, labels)
	}
	f := &Notifier{
		events:     counter("events_total", "Events made of changes, by event.", "event"),
		attempts:   counter("attempts_total", "Attempts of deliveries, by channel and how they ended.", "channel", "class"),
		deliveries: counter("deliveries_total", "Deliveries that ended, by channel and state.", "channel", "state"),
		decisions:  counter("decisions_total", "Decisions about alerts to people, by reason.", "reason"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "svc_notify_attempt_seconds", Help: "Time of an attempt, by channel.", Buckets: prometheus.ExponentialBuckets(0.002, 2.5, 11), //nolint:mnd // 2 ms to 19 s
		}, []string{"channel"}),
		accepted: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "svc_notify_change_to_accept_seconds", Help: "Time from a change to its acceptance by a webhook.", Buckets: prometheus.ExponentialBuckets(0.005, 3, 14), //nolint:mnd // 5 ms to 2 h
		}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "svc_notify_waiting", Help: "Deliveries that wait, by channel."}, []string{"channel"}),
	}
	// The series of failures begin at 0. Prometheus sees no increase in a series that begins with
	// 1, so an alert would miss the first failure.
	for _, channel := range []outbound.Channel{outbound.ChannelMail, outbound.ChannelSMS, outbound.ChannelWebhook} {
		for _, state := range []outbound.State{outbound.Delivered, outbound.Expired, outbound.Failed, outbound.Rejected, outbound.Poison} {
			f.deliveries.WithLabelValues(string(channel), string(state))
		}
		for _, class := range []outbound.Class{outbound.ClassOK, outbound.ClassSealed} {
			f.attempts.WithLabelValues(string(channel), string(class))
		}
	}
	m.MustRegister(f.events, f.attempts, f.deliveries, f.decisions, f.seconds, f.accepted, f.waiting)
	return f
}

// Event implements [notifier.Metrics].
func (f *Notifier) Event(event string) { f.events.WithLabelValues(event).Inc() }

// Attempt implements [notifier.Metrics].
func (f *Notifier) Attempt(c outbound.Channel, class outbound.Class, took time.Duration) {
	f.attempts.WithLabelValues(string(c), string(class)).Inc()
	f.seconds.WithLabelValues(string(c)).Observe(took.Seconds())
}

// Ended implements [notifier.Metrics].
func (f *Notifier) Ended(c outbound.Channel, state outbound.State) {
	f.deliveries.WithLabelValues(string(c), string(state)).Inc()
}

// Accepted implements [notifier.Metrics].
func (f *Notifier) Accepted(since time.Duration) { f.accepted.Observe(since.Seconds()) }

// Decided implements [notifier.Metrics].
func (f *Notifier) Decided(reason string) { f.decisions.WithLabelValues(reason).Inc() }

// Waiting implements [notifier.Metrics].
func (f *Notifier) Waiting(c outbound.Channel, more int) {
	f.waiting.WithLabelValues(string(c)).Add(float64(more))
}
