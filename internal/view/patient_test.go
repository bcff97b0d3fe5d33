package view

import (
	"testing"
	"time"
)

// TestPatient: with the option Patient, which commands set, Redis has more time to respond than in a service.
func TestPatient(t *testing.T) {
	for patient, want := range map[bool][2]time.Duration{false: {dialTimeout, callTimeout}, true: {patientTimeout, patientTimeout}} {
		b, err := Open(Config{URL: "redis://127.0.0.1:1", Now: time.Now, Patient: patient})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if o := b.only.redis.Options(); o.DialTimeout != want[0] || o.ReadTimeout != want[1] || o.WriteTimeout != want[1] || o.PoolTimeout != want[1] {
			t.Errorf("patient %v: %v to connect, %v to read, %v to write, %v for a connection; want %v", patient, o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout, want)
		}
	}
}
