package main

import (
	"svc/ingest"
	"svc/ingest/engines"
	"svc/ingest/mllp"
	"svc/internal/metrics"
)

// mllp adds a front for each address of --mllp.
func (h *service) mllp(messages *ingest.Messages) (err error) {
	counts := &mllp.Counts{}
	mllpMetrics(h.metrics, counts)
	h.mllpFronts, err = engines.New(&engines.Config{
		MLLP: h.config.MLLP, Shell: h.shell, Register: h.settings.Register, Messages: messages, Counts: counts,
		Now: h.now, Log: h.log, Drain: h.config.Drain, Stop: h.config.ShutdownWithin,
	})
	for _, front := range h.mllpFronts {
		front.After = h.Ready
		h.Ports = append(h.Ports, front.Opened)
	}
	return err
}

// mllpMetrics registers the metrics of the listeners.
func mllpMetrics(m *metrics.Registry, c *mllp.Counts) {
	m.Gauge("svc_mllp_connections", "MLLP connections now.", c.Open.Load)
	m.Counter("svc_mllp_connections_total", "MLLP connections accepted.", c.Connections.Load)
	m.Counter("svc_mllp_turned_away_total", "MLLP connections closed at once: too many.", c.TurnedAway.Load)
	m.Counter("svc_mllp_messages_total", "Frames read whole over MLLP.", c.Messages.Load)
	m.Counter("svc_mllp_answered_total", "Frames taken over MLLP, whatever the acknowledgment says.", c.Answered.Load)
	m.Counter("svc_mllp_not_taken_total", "Frames not acknowledged over MLLP: the sender sends them again.", c.NotTaken.Load)
	for _, f := range mllp.Faults() {
		m.Counter("svc_mllp_fault_"+f.String()+"_total", "Frames that depart from the standard: "+f.String()+".", c.Faults[f].Load)
	}
}
