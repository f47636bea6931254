{{- define "scrapdeck.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "scrapdeck.labels" -}}
app.kubernetes.io/name: scrapdeck
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* What a selector may use: never changes. */}}
{{- define "scrapdeck.engineLabels" -}}
app.kubernetes.io/name: scrapdeck
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: engine
{{- end }}

{{- define "scrapdeck.scrapydLabels" -}}
app.kubernetes.io/name: scrapdeck
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: scrapyd
{{- end }}

{{- define "scrapdeck.secret" -}}
{{- .Values.secrets.existing | default (printf "%s-secrets" (include "scrapdeck.name" .)) -}}
{{- end }}

{{- define "scrapdeck.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "scrapdeck.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "scrapdeck.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* The pod of an engine, for the Deployment and for the StatefulSet. */}}
{{- define "scrapdeck.enginePod" -}}
{{- $name := include "scrapdeck.name" . -}}
metadata:
  labels: {{- include "scrapdeck.engineLabels" . | nindent 4 }}
  annotations:
    # What is read at the start: a change of it starts the pods again.
    checksum/configuration: {{ list .Values.engine .Values.scrapyd.slots .Values.scrapyd.refreshSeconds .Values.allowedHosts .Values.trustedProxies | toJson | sha256sum }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.engine.terminationGracePeriodSeconds }}
  securityContext: {{- include "scrapdeck.podSecurity" . | nindent 4 }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector: { matchLabels: {{ include "scrapdeck.engineLabels" . | fromYaml | toJson }} }
  containers:
    - name: scrapdeck
      image: {{ include "scrapdeck.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      securityContext: {{- include "scrapdeck.containerSecurity" . | nindent 8 }}
      ports: [{ name: http, containerPort: 6800 }]
      env:
        - { name: SCRAPDECK_USERNAME, value: {{ .Values.username | quote }} }
        - { name: SCRAPDECK_PASSWORD_FILE, value: /run/secrets/scrapdeck/password }
        - { name: SCRAPDECK_SECRET_KEY_FILE, value: /run/secrets/scrapdeck/secret-key }
        - { name: SCRAPDECK_LOCAL_SLOTS, value: {{ .Values.engine.localSlots | quote }} }
        - name: SCRAPDECK_ALLOWED_HOSTS
          value: {{ concat (list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s.svc.cluster.local" $name .Release.Namespace)) .Values.allowedHosts (.Values.ingress.enabled | ternary (list .Values.ingress.host) list) | join " " | quote }}
        # The Service is inside the cluster; what opens it to others is an Ingress with TLS.
        - { name: SCRAPDECK_BEHIND_PROXY, value: "on" }
        {{- with .Values.trustedProxies }}
        - { name: SCRAPDECK_TRUSTED_PROXIES, value: {{ join " " . | quote }} }
        {{- end }}
        {{- if .Values.engine.store }}
        - { name: SCRAPDECK_STORE, value: {{ .Values.engine.store | quote }} }
        - { name: SCRAPDECK_STORE_PASSWORD_FILE, value: /run/secrets/scrapdeck/store-password }
        {{- end }}
        {{- if .Values.engine.blobs }}
        - { name: SCRAPDECK_BLOBS, value: {{ .Values.engine.blobs | quote }} }
        - { name: AWS_SHARED_CREDENTIALS_FILE, value: /run/secrets/scrapdeck/s3-credentials }
        {{- end }}
        {{- if .Values.engine.cache }}
        - { name: SCRAPDECK_CACHE, value: {{ .Values.engine.cache | quote }} }
        - { name: SCRAPDECK_CACHE_PASSWORD_FILE, value: /run/secrets/scrapdeck/cache-password }
        {{- end }}
        {{- if .Values.scrapyd.enabled }}
        - name: NODES_PASSWORD
          valueFrom: { secretKeyRef: { name: {{ include "scrapdeck.secret" . }}, key: scrapyd-password } }
        # SRV records: a pod of a StatefulSet keeps its name, and so stays the same node, when it gets another address.
        - name: SCRAPDECK_DISCOVER
          value: dns _scrapyd._tcp.{{ $name }}-scrapyd.{{ .Release.Namespace }}.svc.cluster.local record=SRV refresh={{ .Values.scrapyd.refreshSeconds }} id=kubernetes slots={{ .Values.scrapyd.slots }} username=scrapdeck password=$(NODES_PASSWORD)
        {{- end }}
        {{- range $key, $value := .Values.engine.environment }}
        - { name: {{ $key }}, value: {{ $value | quote }} }
        {{- end }}
      # Reading the database and the migrations of an update.
      startupProbe:
        httpGet: { path: /health/ready, port: http }
        periodSeconds: 2
        failureThreshold: 90
      readinessProbe:
        httpGet: { path: /health/ready, port: http }
        periodSeconds: 5
        timeoutSeconds: 5
      livenessProbe:
        httpGet: { path: /health/live, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      lifecycle:
        # Proxies learn of the end after the pod does: it goes on answering meanwhile.
        preStop: { exec: { command: [/bin/sleep, "5"] } }
      resources: {{- toYaml .Values.engine.resources | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /var/lib/scrapdeck }
        - { name: tmp, mountPath: /tmp }
        - { name: secrets, mountPath: /run/secrets/scrapdeck, readOnly: true }
  volumes:
    - name: tmp
      emptyDir: {}
    - name: secrets
      secret: { secretName: {{ include "scrapdeck.secret" . }}, defaultMode: 0440 }
    {{- if eq .Values.engine.mode "postgres" }}
    - name: data
      emptyDir: {}
    {{- end }}
  {{- with .Values.engine.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.engine.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.engine.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
