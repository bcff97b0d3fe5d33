// Package e2e tests the whole system from outside. It runs the shipped binary, sends it feeds over HTTP, kills it,
// and disconnects it from its servers. It then applies the log again with the reference implementation, and compares
// the results.
//
// `go test` runs the tests that need only the embedded servers of `svc dev`; `make e2e` adds the tests on a real
// Kafka and a real Redis. Most tests run in parallel; tests that stop Kafka or measure time do not. A test that stops
// or empties Redis starts its own Redis server (ownRedis).
package e2e
