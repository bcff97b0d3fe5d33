package doctor

import (
	"context"
	"strings"

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

func remedyOfCollector(err error, variable string) string {
	for _, word := range []string{"401", "403", "Unauthenticated", "PermissionDenied"} {
		if strings.Contains(err.Error(), word) {
			return "check OTEL_EXPORTER_OTLP_HEADERS"
		}
	}
	for _, word := range []string{"404", "405", "415", "Unimplemented", "malformed HTTP", "frame too large"} {
		if strings.Contains(err.Error(), word) {
			return "check the path and the port in " + variable + ", and OTEL_EXPORTER_OTLP_PROTOCOL"
		}
	}
	return remedyOfConnection(err, variable, "the scheme of "+variable+" and OTEL_EXPORTER_OTLP_CERTIFICATE")
}
