// Package e2e tests the whole system from outside. It runs the shipped binary, sends it feeds over HTTP, kills it,
// and disconnects it from its servers. It then applies the log again with the reference implementation, and compares
// the results.
//
// `go test` runs the tests that need only the embedded servers of `svc dev`; `make e2e` adds the tests on a real
// Kafka and a real Redis. Most tests run in parallel; tests that measure time do not. A test that stops a server, or
// empties Redis, starts its own (ownKafka, ownRedis, ownServers).
//
// Go starts the parallel tests of the last files first, so a test that takes minutes is best in a file whose name is
// late in the alphabet. If it started last, it would run alone at the end.
package e2e
