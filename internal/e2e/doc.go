// Package e2e tests the whole system from outside. It runs the shipped binary, sends it feeds over HTTP, kills it,
// and disconnects it from its servers. It then applies the log again with the reference implementation, and compares
// the results.
//
// `make test` runs the short tests on the embedded servers of `svc dev`. `make e2e` adds those that take long or need a
// browser or other programs (onlyInE2E), and those on a real Kafka and a real Redis (needServers). With SVC_E2E=dev,
// `go test` runs all except the last. Most tests run in parallel; tests that measure time do not. A test that stops a server, or
// empties Redis, starts its own (ownKafka, ownRedis, ownServers).
//
// Go starts the parallel tests of the last files first, so a test that takes minutes is best in a file whose name is
// late in the alphabet. If it started last, it would run alone at the end.
package e2e
