// Package e2e tests the whole system from outside. It runs the shipped binary, feeds it over
// HTTP, kills it, and cuts it off from its servers. It compares the result with a refold of the
// log by the plain reference function.
//
// `go test` runs the tests that need only the embedded servers of `svc dev`; `make e2e` adds the
// tests on a real Kafka and a real Redis. Tests run beside each other unless they stop Kafka or measure
// time. A test that stops or empties Redis has one of its own (ownRedis).
package e2e
