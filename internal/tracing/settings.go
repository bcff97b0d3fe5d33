package tracing

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The supported values of OTEL_EXPORTER_OTLP_PROTOCOL.
const (
	protocolGRPC = "grpc"
	protocolHTTP = "http/protobuf"
)

// settings contains the values of the standard environment variables that the SDK does not read, or whose errors it
// ignores.
type settings struct {
	on       bool
	variable string // the variable that names the collector
	protocol string
	queue    int    // size of the queue in spans
	ignored  string // propagators that are not supported
}

// readSettings reads the variables. An error names the variable and its valid values. It does not contain the value,
// because an endpoint may contain a password.
func readSettings(getenv func(string) string) (s settings, err error) {
	first := func(names ...string) (name, value string) {
		for _, name = range names {
			if value = strings.TrimSpace(getenv(name)); value != "" {
				return name, value
			}
		}
		return name, ""
	}
	name, endpoint := first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	_, exporter := first("OTEL_TRACES_EXPORTER")
	_, disabled := first("OTEL_SDK_DISABLED")
	switch {
	case exporter != "" && exporter != "otlp" && exporter != "none":
		return s, fmt.Errorf("OTEL_TRACES_EXPORTER must be otlp or none")
	case exporter == "none", strings.EqualFold(disabled, "true"), endpoint == "" && exporter == "":
		return s, nil
	}
	s.on, s.variable = true, name
	if endpoint != "" {
		at, fault := url.Parse(endpoint)
		if fault != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
			return s, fmt.Errorf("%s must be a URL, such as http://collector:4318", name)
		}
	}
	if name, s.protocol = first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); s.protocol == "" {
		s.protocol = protocolHTTP
	}
	if s.protocol != protocolGRPC && s.protocol != protocolHTTP {
		return s, fmt.Errorf("%s must be %s or %s", name, protocolHTTP, protocolGRPC)
	}
	s.queue = sdktrace.DefaultMaxQueueSize
	if name, size := first("OTEL_BSP_MAX_QUEUE_SIZE"); size != "" {
		if s.queue, err = strconv.Atoi(size); err != nil || s.queue < 1 {
			return s, fmt.Errorf("%s must be a number of spans, at least 1", name)
		}
	}
	s.ignored = unsupportedPropagators(getenv("OTEL_PROPAGATORS"))
	return s, checkSampler(getenv)
}

// unsupportedPropagators returns the listed propagators that svc does not support: those that use a different header.
// Baggage is accepted although svc does not pass it on, because the variable's default includes it, and so do most
// installations.
func unsupportedPropagators(list string) string {
	var others []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); !slices.Contains([]string{"", "tracecontext", "baggage", "none"}, name) {
			others = append(others, name)
		}
	}
	return strings.Join(others, ",")
}

// checkSampler checks the variables of the sampler. If one of them is invalid, the SDK records all traces.
func checkSampler(getenv func(string) string) error {
	names := []string{
		"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio",
	}
	sampler := strings.ToLower(strings.TrimSpace(getenv("OTEL_TRACES_SAMPLER")))
	if sampler != "" && !slices.Contains(names, sampler) {
		return fmt.Errorf("OTEL_TRACES_SAMPLER must be one of %s", strings.Join(names, ", "))
	}
	argument := strings.TrimSpace(getenv("OTEL_TRACES_SAMPLER_ARG"))
	if argument == "" || !strings.HasSuffix(sampler, "traceidratio") {
		return nil
	}
	if ratio, err := strconv.ParseFloat(argument, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
		return fmt.Errorf("OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1")
	}
	return nil
}
