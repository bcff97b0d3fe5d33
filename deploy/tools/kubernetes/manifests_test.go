// Package kubernetes checks the chart and the Kustomize base of deploy/. It is a separate module,
// so that svc does not depend on Helm.
package kubernetes

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	chartFolder = "../../chart"
	baseFolder  = "../../kubernetes"
)

var update = flag.Bool("update", false, "rewrite the Kustomize base from the chart")

// render returns the manifests of the chart, rendered as release svc, by template name.
func render(values string) (map[string]string, error) {
	loaded, err := loader.Load(chartFolder)
	if err != nil {
		return nil, err
	}
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: "svc", Namespace: "svc", IsInstall: true}
	all, err := chartutil.ToRenderValues(loaded, given, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(loaded, all)
	found := map[string]string{}
	for name, text := range files {
		if path.Ext(name) == ".yaml" && strings.TrimSpace(text) != "" {
			found[strings.TrimPrefix(name, "svc/templates/")] = strings.TrimSpace(text) + "\n"
		}
	}
	return found, err
}

// known is a decoder for the objects of Kubernetes, of the Gateway API and of the Prometheus Operator. It returns an
// error for a field that the object's type does not have.
var known = func() runtime.Decoder {
	types := scheme.Scheme
	for _, add := range []func(*runtime.Scheme) error{gateway.Install, monitoring.AddToScheme} {
		if err := add(types); err != nil {
			panic(err)
		}
	}
	return serializer.NewCodecFactory(types, serializer.EnableStrict).UniversalDeserializer()
}()

// decode reads all objects of a manifest. Two objects with the same kind and name are an error.
func decode(text string) (objects []runtime.Object, err error) {
	seen := map[string]bool{}
	for _, document := range strings.Split("\n"+text, "\n---") {
		if content, err := yaml.YAMLToJSON([]byte(document)); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		} else if string(content) == "null" {
			continue
		}
		object, kind, err := known.Decode([]byte(document), nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		}
		named, err := meta.Accessor(object)
		if err != nil {
			return nil, err
		}
		name := kind.Kind + " " + named.GetName()
		if named.GetName() == "" || seen[name] {
			return nil, fmt.Errorf("%q has no name, or is there twice", name)
		}
		seen[name] = true
		objects = append(objects, object)
	}
	return objects, nil
}

// pods returns the templates of the pods that objects create, by name.
func pods(objects []runtime.Object) map[string]core.PodTemplateSpec {
	found := map[string]core.PodTemplateSpec{}
	for _, object := range objects {
		switch o := object.(type) {
		case *apps.Deployment:
			found[o.Name] = o.Spec.Template
		case *apps.StatefulSet:
			found[o.Name] = o.Spec.Template
		case *batch.Job:
			found[o.Name] = o.Spec.Template
		case *core.Pod:
			found[o.Name] = core.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}
		}
	}
	return found
}

// podFaults returns the properties that docs/deployment.md promises but a pod lacks.
func podFaults(name string, pod *core.PodTemplateSpec) (faults []string) {
	require := func(holds bool, what string) {
		if !holds {
			faults = append(faults, name+": "+what)
		}
	}
	role := pod.Labels["role"]
	s := pod.Spec.SecurityContext
	require(s != nil && s.RunAsNonRoot != nil && *s.RunAsNonRoot, "may run as root")
	require(s != nil && s.SeccompProfile != nil && s.SeccompProfile.Type == core.SeccompProfileTypeRuntimeDefault, "has no seccomp profile")
	member := role == "process" || role == "notify"
	require(member == (pod.Spec.ServiceAccountName != ""), "has the wrong service account")
	require(member || pod.Spec.AutomountServiceAccountToken != nil && !*pod.Spec.AutomountServiceAccountToken, "has a token of the cluster")
	secret := "svc-" + role
	if role == "test" {
		secret = "svc-verify"
	}
	volumes := pod.Spec.Volumes
	if n := len(volumes); role == "ingest" && n == 2 && volumes[1].Name == "mllp" && volumes[1].Secret != nil { // the certificate
		volumes = volumes[:1]
	}
	require(len(volumes) == 1 && volumes[0].Secret != nil && volumes[0].Secret.SecretName == secret,
		"mounts something other than its own secret")
	require(len(pod.Spec.Containers) == 1, "has no container, or several")
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		s := c.SecurityContext
		require(s != nil && s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem, "writes to its file system")
		require(s != nil && s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation, "may gain privileges")
		require(s != nil && s.Capabilities != nil && slices.Contains(s.Capabilities.Drop, "ALL"), "has capabilities")
		require(!c.Resources.Requests.Cpu().IsZero() && !c.Resources.Requests.Memory().IsZero(), "requests no CPU or memory")
		for _, variable := range c.Env {
			require(variable.ValueFrom == nil || variable.ValueFrom.SecretKeyRef == nil, variable.Name+" is a secret in a variable")
		}
		if role == "admin" || role == "test" {
			continue
		}
		require(c.LivenessProbe != nil && c.ReadinessProbe != nil, "has no probes")
		require(pod.Spec.TerminationGracePeriodSeconds != nil && *pod.Spec.TerminationGracePeriodSeconds >= 40, "is killed during its graceful shutdown")
		require(member == (c.Lifecycle != nil && c.Lifecycle.PreStop != nil), "has the wrong preStop hook")
	}
	return faults
}

// TestManifests renders the chart with several sets of values. Every object must decode into the types of its API
// without an unknown field, and every pod must have the properties that podFaults checks.
func TestManifests(t *testing.T) {
	for name, tt := range map[string]struct {
		values string
		want   []string // objects that these values add
	}{
		"defaults": {"", []string{"ConfigMap svc", "Deployment svc-verify", "Deployment svc-ingest", "Deployment svc-read", "StatefulSet svc-process", "StatefulSet svc-notify", "PodDisruptionBudget svc-read", "NetworkPolicy svc-in", "Pod svc-test"}},
		"a registry and pull secrets": {
			`{image: {repository: registry.example/svc, tag: v1, pullSecrets: [a, b]}, configMap: mine}`,
			nil,
		},
		"an ingress": {
			`{ingress: {enabled: true, className: nginx, host: svc.hospital.example, tlsSecret: tls, annotations: {a: b}}}`,
			[]string{"Ingress svc"},
		},
		"a gateway":   {`{gateway: {enabled: true, parent: {name: edge, namespace: infra}, hosts: [svc.hospital.example]}}`, []string{"HTTPRoute svc"}},
		"autoscaling": {`{ingest: {autoscaling: {enabled: true}}, read: {autoscaling: {enabled: true, max: 20}}}`, []string{"HorizontalPodAutoscaler svc-ingest", "HorizontalPodAutoscaler svc-read"}},
		"monitoring": {
			`{serviceMonitor: {enabled: true, labels: {release: prometheus}}, prometheusRule: {enabled: true, labels: {release: prometheus}}}`,
			[]string{"ServiceMonitor svc", "Service svc-metrics", "PrometheusRule svc"},
		},
		"alerts alone":             {`{prometheusRule: {enabled: true}}`, []string{"PrometheusRule svc"}},
		"without what is optional": {`{verify: {enabled: false}, podDisruptionBudgets: false, networkPolicies: {enabled: false}}`, nil},
		"variables and resources": {
			`{config: {SVC_KAFKA_SASL: null, SVC_KAFKA_TLS: "false"}, notify: {env: {SVC_SMTP_HOST: mail.example, SVC_SMTP_PASSWORD_FILE: /keys/smtp.password}}, process: {replicas: 6, resources: {requests: {cpu: "2", memory: 2Gi}}}}`,
			nil,
		},
		"mllp":            {`{mllp: {enabled: true, senders: [{key: key_0123456789abcdef}]}}`, []string{"Service svc-mllp", "NetworkPolicy svc-mllp"}},
		"traces":          {`{traces: {endpoint: "http://collector:4317", port: 4317}, config: {OTEL_EXPORTER_OTLP_PROTOCOL: grpc}}`, nil},
		"narrow networks": {`{networkPolicies: {apiFrom: [{namespaceSelector: {matchLabels: {a: b}}}], serverPorts: [{port: 9094}, {port: 6380}]}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := render(tt.values)
			if err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			for _, file := range slices.Sorted(maps.Keys(files)) {
				all.WriteString("\n---\n" + files[file])
			}
			objects, err := decode(all.String())
			if err != nil {
				t.Fatal(err)
			}
			names := map[string]bool{}
			for _, object := range objects {
				named, err := meta.Accessor(object)
				if err != nil {
					t.Fatal(err)
				}
				names[object.GetObjectKind().GroupVersionKind().Kind+" "+named.GetName()] = true
			}
			for _, want := range tt.want {
				if !names[want] {
					t.Errorf("there is no %s, only %v", want, slices.Sorted(maps.Keys(names)))
				}
			}
			for name, pod := range pods(objects) {
				for _, fault := range podFaults(name, &pod) {
					t.Error(fault)
				}
			}
		})
	}
}

// TestValuesAreChecked: the schema refuses values that are misspelled or out of range, and secrets.
func TestValuesAreChecked(t *testing.T) {
	for values, want := range map[string]string{
		`{ingress: {enable: true}}`:                     "enable",
		`{image: {tag: latest}}`:                        "tag",
		`{image: {tag: 1.5}}`:                           "tag",
		`{process: {replicas: -1}}`:                     "replicas",
		`{config: {SVC_PSEUDONYM_KEY: abc}}`:            "config",
		`{config: {svc_kafka: kafka:9092}}`:             "svc_kafka",
		`{ingest: {env: {SVC_DRAIN: 8}}}`:               "SVC_DRAIN",
		`{networkPolicies: {partnerPorts: [99999]}}`:    "partnerPorts",
		`{serviceMonitor: {interval: fast}}`:            "interval",
		`{traces: {endpoint: "collector:4318"}}`:        "endpoint",
		`{mllp: {enabled: true, port: 80}}`:             "port",
		`{mllp: {senders: [{key: svc_0123}]}}`:          "key",
		`{mllp: {senders: [{from: 10.0.0.0/8}]}}`:       "key",
		`{mllp: {clientCA: true}}`:                      "tlsSecret",
		`{mllp: {enabled: true}}`:                       "mllp.senders",
		`{mllp: {senders: [{key: key_01, client: a}]}}`: "clientCA",
		`{mllp: {service: {type: ExternalName}}}`:       "type",
		`{gateway: {enabled: true, hosts: []}}`:         "hosts",
		`{notify: {autoscaling: {enabled: true}}}`:      "autoscaling",
	} {
		if _, err := render(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that names %s", values, err, want)
		}
	}
}

// madeFrom is the first line of each file of the base, which is generated from the chart.
const madeFrom = "# Made from deploy/chart by `make base`; change it there.\n"

// TestBase compares the Kustomize base with the chart. `make base` rewrites it.
func TestBase(t *testing.T) {
	files, err := render(`{configMap: svc}`)
	if err != nil {
		t.Fatal(err)
	}
	base := map[string]string{}
	for _, name := range []string{"ingest.yaml", "network.yaml", "notify.yaml", "process.yaml", "read.yaml", "verify.yaml"} {
		base[name] = files[name]
	}
	listening, err := render(`{configMap: svc, mllp: {enabled: true, tlsSecret: svc-mllp}}`)
	if err != nil {
		t.Fatal(err)
	}
	base["mllp/mllp.yaml"] = listening["mllp.yaml"]
	base["mllp/ingest.yaml"], _, _ = strings.Cut(listening["ingest.yaml"], "---\n") // a patch of the Deployment
	for name, text := range base {
		want := madeFrom + text
		file := filepath.Join(baseFolder, name)
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("deploy/kubernetes/%s is stale: run make base (%v)", name, err)
		}
	}
}

// TestKustomize builds the base and the administration job as kubectl apply -k does.
func TestKustomize(t *testing.T) {
	for folder, atLeast := range map[string]int{baseFolder: 5, baseFolder + "/admin": 1, "with MLLP": 5} {
		files := filesys.MakeFsOnDisk()
		if folder == "with MLLP" {
			files, folder = withComponent(t, "mllp"), "/base"
		}
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, folder)
		if err != nil {
			t.Fatal(err)
		}
		text, err := built.AsYaml()
		if err != nil {
			t.Fatal(err)
		}
		objects, err := decode(string(text))
		if err != nil {
			t.Fatal(err)
		}
		found := pods(objects)
		if len(found) < atLeast {
			t.Errorf("%s makes only %d kinds of pods", folder, len(found))
		}
		for name, pod := range found {
			for _, fault := range podFaults(name, &pod) {
				t.Error(fault)
			}
			if image := pod.Spec.Containers[0].Image; image != "svc:edit-me" {
				t.Errorf("%s runs %s, which kustomization.yaml does not set", name, image)
			}
			if from := pod.Spec.Containers[0].EnvFrom; len(from) != 1 || !strings.HasPrefix(from[0].ConfigMapRef.Name, "svc-") {
				t.Errorf("%s has variables from %v, not from what kustomization.yaml generates", name, from)
			}
		}
	}
}

// withComponent returns the base at /base in memory, with a component.
func withComponent(t *testing.T, name string) filesys.FileSystem {
	t.Helper()
	files := filesys.MakeFsInMemory()
	for _, folder := range []string{"", name} {
		entries, err := os.ReadDir(filepath.Join(baseFolder, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if entry.IsDir() {
				continue
			}
			content, err := os.ReadFile(filepath.Join(baseFolder, folder, entry.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if folder == "" && entry.Name() == "kustomization.yaml" {
				content = append(content, "components: ["+name+"]\n"...)
			}
			if err := files.WriteFile(path.Join("/base", folder, entry.Name()), content); err != nil {
				t.Fatal(err)
			}
		}
	}
	return files
}

// TestMLLP: with MLLP, svc ingest listens on the port for the given senders, a Service of its own leads there, and the
// network policies open the port for the given peers. Without it, none of that is the case.
func TestMLLP(t *testing.T) {
	const senders = `senders: [{key: key_0123456789abcdef, from: 10.1.0.0/16}, {key: key_00000000000000ff}]`
	const plain = "addr=:2600,key=key_0123456789abcdef,from=10.1.0.0/16;addr=:2600,key=key_00000000000000ff"
	for values, want := range map[string]struct {
		env                 map[string]string
		service, policy, in string
		secret              string
	}{
		"":                          {},
		`{mllp: {` + senders + `}}`: {},
		`{mllp: {enabled: true, port: 2600, ` + senders + `}}`: {
			map[string]string{"SVC_MLLP": plain}, "LoadBalancer 2600 mllp Local map[]", "mllp []", "2600", "",
		},
		`{mllp: {enabled: true, senders: [{key: key_00000000000000ff, client: bridge.example}], tlsSecret: hl7, clientCA: true,
			from: [{ipBlock: {cidr: 10.1.0.0/16}}], service: {type: NodePort, annotations: {a: b}}}}`: {
			map[string]string{"SVC_MLLP": "addr=:2575,key=key_00000000000000ff,client=bridge.example", "SVC_MLLP_TLS_CERT": "/mllp/tls.crt", "SVC_MLLP_TLS_KEY": "/mllp/tls.key", "SVC_MLLP_TLS_CLIENT_CA": "/mllp/ca.crt"},
			"NodePort 2575 mllp Local map[a:b]", "mllp [10.1.0.0/16]", "2575", "hl7",
		},
		`{mllp: {enabled: true, service: {type: ClusterIP}}, networkPolicies: {enabled: false}, ingest: {env: {SVC_MLLP: "addr=:2575,key=key_01"}}}`: {
			map[string]string{"SVC_MLLP": "addr=:2575,key=key_01"}, "ClusterIP 2575 mllp  map[]", "", "2575", "",
		},
	} {
		files, err := render(values)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := decode(files["mllp.yaml"] + "\n---\n" + files["ingest.yaml"])
		if err != nil {
			t.Fatal(err)
		}
		var service, policy, in, secret string
		env := map[string]string{}
		for _, object := range objects {
			switch o := object.(type) {
			case *core.Service:
				if o.Name == "svc-mllp" {
					p := o.Spec.Ports[0]
					service = fmt.Sprint(o.Spec.Type, " ", p.Port, " ", p.TargetPort.String(), " ", o.Spec.ExternalTrafficPolicy, " ", o.Annotations)
				}
			case *networking.NetworkPolicy:
				var peers []string
				for _, from := range o.Spec.Ingress[0].From {
					peers = append(peers, from.IPBlock.CIDR)
				}
				policy = fmt.Sprint(o.Spec.Ingress[0].Ports[0].Port.String(), " ", peers)
			}
		}
		pod := pods(objects)["svc-ingest"].Spec
		for _, v := range pod.Containers[0].Env {
			if strings.HasPrefix(v.Name, "SVC_MLLP") {
				env[v.Name] = v.Value
			}
		}
		for _, p := range pod.Containers[0].Ports {
			if p.Name == "mllp" {
				in = fmt.Sprint(p.ContainerPort)
			}
		}
		for _, v := range pod.Volumes {
			if v.Name == "mllp" {
				secret = v.Secret.SecretName
			}
		}
		if service != want.service || policy != want.policy || in != want.in || secret != want.secret || !maps.Equal(env, want.env) {
			t.Errorf("%s: service %q, policy %q, port %q, secret %q, variables %v", values, service, policy, in, secret, env)
		}
	}
}

// TestPodFaultsAreFound breaks each property of a pod in turn, and checks that podFaults reports
// it.
func TestPodFaultsAreFound(t *testing.T) {
	files, err := render("")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]struct{ from, to string }{
		"may run as root":           {"runAsNonRoot: true", "runAsNonRoot: false"},
		"has no seccomp profile":    {"type: RuntimeDefault", "type: Unconfined"},
		"writes to its file system": {"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false"},
		"other than its own secret": {"secretName: svc-ingest", "secretName: svc-notify"},
		"killed during its":         {"terminationGracePeriodSeconds: 45", "terminationGracePeriodSeconds: 5"},
		"unknown field":             {"readinessProbe:", "readynessProbe:"},
	} {
		objects, err := decode(strings.Replace(files["ingest.yaml"], change.from, change.to, 1))
		found := fmt.Sprint(err)
		for name, pod := range pods(objects) {
			found += fmt.Sprint(podFaults(name, &pod))
		}
		if !strings.Contains(found, name) {
			t.Errorf("%s is not found: %s", name, found)
		}
	}
}

// TestTraces: if an endpoint for traces is set, each role that records spans gets it, and the network policies allow
// its port. Without an endpoint, neither is the case.
func TestTraces(t *testing.T) {
	for values, want := range map[string]int{"": 0, `{traces: {endpoint: "http://collector:4318"}}`: 1} {
		files, err := render(values)
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			if role := strings.TrimSuffix(path.Base(file), ".yaml"); slices.Contains([]string{"ingest", "notify", "process", "read"}, role) {
				if got := strings.Count(text, "{name: OTEL_EXPORTER_OTLP_ENDPOINT, value: \"http://collector:4318\"}"); got != want {
					t.Errorf("%q: %s has the endpoint %d times, want %d", values, file, got, want)
				}
			}
			if path.Base(file) == "network.yaml" && strings.Count(text, "port: 4318") != want {
				t.Errorf("%q: port 4318 in %s, want %d times", values, text, want)
			}
		}
	}
}

// TestReadersReachTheIdentityProvider: the network policies let svc read, and no other role, connect to the ports of
// the identity provider.
func TestReadersReachTheIdentityProvider(t *testing.T) {
	for values, want := range map[string]string{
		`{networkPolicies: {oidcPorts: [8443], partnerPorts: [587]}}`: "read 8443",
		`{networkPolicies: {oidcPorts: [], partnerPorts: [587]}}`:     "",
	} {
		files, err := render(values)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := decode(files["network.yaml"])
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, object := range objects {
			policy, ok := object.(*networking.NetworkPolicy)
			if !ok {
				t.Fatalf("%T", object)
			}
			for _, rule := range policy.Spec.Egress {
				if len(rule.Ports) == 0 {
					t.Errorf("%s allows every port", policy.Name)
				}
				for _, p := range rule.Ports {
					if p.Port.IntValue() == 8443 {
						got = append(got, policy.Spec.PodSelector.MatchLabels["role"]+" "+p.Port.String())
					}
				}
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %v", values, got)
		}
	}
}
