package doctor

import (
	"context"
	"regexp"

	"svc/internal/tracing"
)

// checkTraces checks the trace collector, if one is configured.
func (e *examination) checkTraces(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	variable, err := tracing.Probe(limited)
	switch {
	case variable == "" && err == nil: // traces are off
	case variable == "":
		e.add(Fault, "traces", "correct this variable (docs/configuration.md#traces)", "%v", err)
	case err == nil:
		e.ok("traces", "the collector in %s accepts traces", variable)
	default:
		e.add(Fault, "traces", remedyOfCollector(err, variable), "the collector in %s does not accept traces: %v", variable, err)
	}
}

// These errors show that a server responds, but refuses the login, or is not a collector. The word boundaries exclude a
// port that contains the digits of a status.
var (
	refusedLogin = regexp.MustCompile(`\b(401|403)\b|Unauthenticated|PermissionDenied`)
	noCollector  = regexp.MustCompile(`\b(404|405|415)\b|Unimplemented|malformed HTTP|frame too large`)
)

func remedyOfCollector(err error, variable string) string {
	switch text := err.Error(); {
	case refusedLogin.MatchString(text):
		return "check OTEL_EXPORTER_OTLP_HEADERS"
	case noCollector.MatchString(text):
		return "check the path and the port in " + variable + ", and OTEL_EXPORTER_OTLP_PROTOCOL"
	}
	return remedyOfConnection(err, variable, "the scheme of "+variable+" and OTEL_EXPORTER_OTLP_CERTIFICATE")
}
