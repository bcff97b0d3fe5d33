{{- define "svc.image" -}}
{{ .Values.image.repository }}{{ with .Values.image.tag }}:{{ . }}{{ end }}
{{- end }}

{{- /* The labels of a role: dict root, role. */ -}}
{{- define "svc.labels" -}}
{app: {{ .root.Release.Name }}, role: {{ .role }}}
{{- end }}

{{- /* The metadata of a pod: dict root, role, port. */ -}}
{{- define "svc.podMetadata" -}}
labels: {{ include "svc.labels" . }}
annotations:
  prometheus.io/scrape: "true"
  prometheus.io/port: {{ .port | quote }}
  {{- if not .root.Values.configMap }}
  checksum/config: {{ toJson .root.Values.config | sha256sum }} # a changed option restarts the pods
  {{- end }}
{{- end }}

{{- /* What all pods have: dict root, role. */ -}}
{{- define "svc.podSpec" -}}
enableServiceLinks: false
securityContext: {runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- if .spread }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {{ include "svc.labels" . }}}
{{- end }}
volumes: [{name: keys, secret: {secretName: {{ (index .root.Values .role).secret | default (printf "%s-%s" .root.Release.Name .role) }}, defaultMode: 0440}}
{{- if include "svc.mllpTLS" . }}, {name: mllp, secret: {secretName: {{ .root.Values.mllp.tlsSecret }}, defaultMode: 0440}}{{ end }}]
{{- end }}

{{- /* What all containers have: dict root, role, args. */ -}}
{{- define "svc.container" -}}
name: svc
image: {{ include "svc.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: {{ .args }}
envFrom: [{configMapRef: {name: {{ .root.Values.configMap | default .root.Release.Name }}}}]
securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
volumeMounts: [{name: keys, mountPath: /keys, readOnly: true}
{{- if include "svc.mllpTLS" . }}, {name: mllp, mountPath: /mllp, readOnly: true}{{ end }}]
resources: {{ toJson (index .root.Values .role).resources }}
{{- end }}

{{- /* "true" if the role listens for MLLP: dict root, role. svc.mllpTLS: also if it does so with TLS. */ -}}
{{- define "svc.mllp" -}}
{{- if and (eq .role "ingest") .root.Values.mllp.enabled }}true{{ end }}
{{- end }}
{{- define "svc.mllpTLS" -}}
{{- if .root.Values.mllp.tlsSecret }}{{ include "svc.mllp" . }}{{ end }}
{{- end }}

{{- /* The value of SVC_MLLP. */ -}}
{{- define "svc.mllpSenders" -}}
{{- $port := .port }}
{{- range $i, $s := .senders }}{{ if $i }};{{ end }}addr=:{{ $port }},key={{ $s.key }}{{ with $s.from }},from={{ . }}{{ end }}{{ with $s.client }},client={{ . }}{{ end }}{{ end }}
{{- end }}

{{- /* The variables of a role: dict root, role, keys. */ -}}
{{- define "svc.env" -}}
- {name: SVC_REDIS_FILE, value: /keys/redis.url}
{{- if has "pseudonym" .keys }}
- {name: SVC_PSEUDONYM_KEY_FILE, value: /keys/pseudonym.key}
{{- end }}
{{- if has "secrets" .keys }}
- {name: SVC_SECRETS_KEY_FILE, value: /keys/secrets.key}
{{- end }}
{{- with .root.Values.traces.endpoint }}
- {name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }}}
{{- end }}
{{- if include "svc.mllp" . }}
{{- if .root.Values.mllp.senders }}
- {name: SVC_MLLP, value: {{ include "svc.mllpSenders" .root.Values.mllp | quote }}}
{{- end }}
{{- if include "svc.mllpTLS" . }}
- {name: SVC_MLLP_TLS_CERT, value: /mllp/tls.crt}
- {name: SVC_MLLP_TLS_KEY, value: /mllp/tls.key}
{{- if .root.Values.mllp.clientCA }}
- {name: SVC_MLLP_TLS_CLIENT_CA, value: /mllp/ca.crt}
{{- end }}
{{- end }}
{{- end }}
{{- range $name, $value := (index .root.Values .role).env }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{- define "svc.liveness" -}}
{httpGet: {path: /healthz, port: private}, periodSeconds: 10, failureThreshold: 6}
{{- end }}

{{- /* A budget: at most one pod of the role is evicted at a time. */ -}}
{{- define "svc.budget" -}}
{{- if .root.Values.podDisruptionBudgets }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: {{ .root.Release.Name }}-{{ .role }}}
spec:
  maxUnavailable: 1
  selector: {matchLabels: {{ include "svc.labels" . }}}
{{- end }}
{{- end }}

{{- /* An autoscaler by CPU: dict root, role. */ -}}
{{- define "svc.autoscaler" -}}
{{- $a := (index .root.Values .role).autoscaling }}
{{- if $a.enabled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: {{ .root.Release.Name }}-{{ .role }}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ .root.Release.Name }}-{{ .role }}}
  minReplicas: {{ $a.min }}
  maxReplicas: {{ $a.max }}
  metrics:
    - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: {{ $a.cpu }}}}}
{{- end }}
{{- end }}

{{- /* A Deployment with its Service: dict root, role, keys, ready, env. */ -}}
{{- define "svc.http" -}}
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .root.Release.Name }}-{{ .role }}}
spec:
  {{- if not (index .root.Values .role).autoscaling.enabled }}
  replicas: {{ (index .root.Values .role).replicas }}
  {{- end }}
  # A new pod is ready before an old one stops.
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  selector: {matchLabels: {{ include "svc.labels" . }}}
  template:
    metadata:
      {{- include "svc.podMetadata" (merge (dict "port" "9090") .) | nindent 6 }}
    spec:
      # Longer than SVC_DRAIN, SVC_SHUTDOWN_WITHIN and the last writes together.
      terminationGracePeriodSeconds: 45
      automountServiceAccountToken: false
      {{- include "svc.podSpec" (merge (dict "spread" true) .) | nindent 6 }}
      containers:
        - {{- include "svc.container" . | nindent 10 }}
          env:
            {{- include "svc.env" . | nindent 12 }}
            {{- with .env }}
            {{- . | nindent 12 }}
            {{- end }}
          ports:
            - {name: http, containerPort: 8080}
            - {name: private, containerPort: 9090}
            {{- if include "svc.mllp" . }}
            - {name: mllp, containerPort: {{ .root.Values.mllp.port }}}
            {{- end }}
          livenessProbe: {{ include "svc.liveness" . }}
          readinessProbe: {httpGet: {path: {{ .ready | quote }}, port: private}, periodSeconds: 5, timeoutSeconds: 3}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .root.Release.Name }}-{{ .role }}}
spec:
  selector: {{ include "svc.labels" . }}
  ports: [{name: http, port: 80, targetPort: http}]
{{ include "svc.budget" . }}
{{- include "svc.autoscaler" . }}
{{- end }}

{{- /* A StatefulSet, whose pods keep their names, and with them their partitions: dict root, role, keys. */ -}}
{{- define "svc.member" -}}
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: {{ .root.Release.Name }}-{{ .role }}}
spec:
  serviceName: {{ .root.Release.Name }}-{{ .role }}
  podManagementPolicy: Parallel
  replicas: {{ (index .root.Values .role).replicas }}
  selector: {matchLabels: {{ include "svc.labels" . }}}
  template:
    metadata:
      {{- include "svc.podMetadata" (merge (dict "port" "9090") .) | nindent 6 }}
    spec:
      # Longer than SVC_SHUTDOWN_WITHIN and the last writes together.
      terminationGracePeriodSeconds: 45
      serviceAccountName: {{ .root.Release.Name }}-{{ .role }} # for the preStop hook
      {{- include "svc.podSpec" (merge (dict "spread" true) .) | nindent 6 }}
      containers:
        - {{- include "svc.container" . | nindent 10 }}
          env:
            {{- include "svc.env" . | nindent 12 }}
            - {name: SVC_INSTANCE, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
          ports:
            - {name: private, containerPort: 9090}
          lifecycle: {preStop: {exec: {command: [/svc, prestop]}}}
          livenessProbe: {{ include "svc.liveness" . }}
          readinessProbe: {httpGet: {path: /readyz, port: private}, periodSeconds: 5, timeoutSeconds: 3}
---
# Names of the pods: {{ .root.Release.Name }}-{{ .role }}-0.{{ .root.Release.Name }}-{{ .role }}.
apiVersion: v1
kind: Service
metadata: {name: {{ .root.Release.Name }}-{{ .role }}}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {{ include "svc.labels" . }}
  ports: [{name: private, port: 9090, targetPort: private}]
{{ include "svc.budget" . }}
---
# A pod may only read its StatefulSet.
apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ .root.Release.Name }}-{{ .role }}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: {{ .root.Release.Name }}-{{ .role }}}
rules:
  - {apiGroups: [apps], resources: [statefulsets], resourceNames: [{{ .root.Release.Name }}-{{ .role }}], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: {{ .root.Release.Name }}-{{ .role }}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .root.Release.Name }}-{{ .role }}}
subjects: [{kind: ServiceAccount, name: {{ .root.Release.Name }}-{{ .role }}}]
{{- end }}
