{{/* Parts of every object. `root` is the chart's top, `role` the word for the entrypoint. */}}

{{- define "pegboard.name" -}}
{{ .root.Release.Name | trunc 40 | trimSuffix "-" }}-{{ .role }}
{{- end }}

{{- define "pegboard.release" -}}
app.kubernetes.io/name: pegboard
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "pegboard.selector" -}}
{{ include "pegboard.release" .root }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "pegboard.labels" -}}
{{ include "pegboard.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "pegboard.metadata" -}}
name: {{ include "pegboard.name" . }}
labels:
  {{- include "pegboard.labels" . | nindent 2 }}
{{- end }}

{{/* Of a pod: no token of the cluster, and no variables such as PEGBOARD_WEB_PORT. */}}
{{- define "pegboard.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .nodeSelector | default .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* A container: `name` if it is not the role, `args`, `env`, `mounts`, `resources`, `opened`. */}}
{{- define "pegboard.container" -}}
{{- $image := .root.Values.image -}}
{{- $name := .name | default .role -}}
{{- $repository := ternary $image.connectionsRepository $image.repository (eq .role "connections") -}}
name: {{ $name }}
image: "{{ $repository }}:{{ $image.tag | default .root.Chart.AppVersion }}"
imagePullPolicy: {{ $image.pullPolicy }}
args: {{ .args | default (list .role) | toJson }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
  {{- with .opened }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
env:
  {{- range $variable, $value := merge (.env | default dict) (include "pegboard.environment" .root | fromYaml) }}
  - name: {{ $variable }}
    value: {{ $value | quote }}
  {{- end }}
volumeMounts:
  - {name: tmp-{{ $name }}, mountPath: /tmp}
  - {name: secrets-{{ $name }}, mountPath: /run/secrets, readOnly: true}
  {{- with .mounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
resources:
  {{- toYaml .resources | nindent 2 }}
{{- end }}

{{/* The environment of every role, as x-pegboard in docker/compose.yaml. */}}
{{- define "pegboard.environment" -}}
{{- $hosts := prepend .Values.moreHosts .Values.host -}}
DATABASE_URL: {{ include "pegboard.database" (dict "root" . "user" .Values.database.user) }}
REDIS_URL: {{ printf "redis%s://%s:%v/%v" (ternary "s" "" .Values.redis.tls) .Values.redis.host .Values.redis.port .Values.redis.database }}
PEGBOARD_ALLOWED_HOSTS: {{ join "," $hosts | quote }}
PEGBOARD_TRUSTED_ORIGINS: https://{{ .Values.host }}
PEGBOARD_RELOAD_POLLING: {{ .Values.manifests.polling | quote }}
WEB_CONCURRENCY: {{ .Values.web.concurrency | quote }}
WORKER_CONCURRENCY: {{ .Values.worker.concurrency | quote }}
{{ toYaml .Values.settings }}
{{- end }}

{{/* An address without a password, which the entrypoint adds from a file. */}}
{{- define "pegboard.database" -}}
{{- $database := .root.Values.database -}}
postgresql://{{ .user }}@{{ $database.host }}:{{ $database.port }}/{{ .name | default $database.name }}?sslmode={{ $database.sslmode }}
{{- end }}

{{/* A container's /tmp, and its `secrets` as files. Where archives are unpacked they take 200 MB each. */}}
{{- define "pegboard.volumes" -}}
{{- $secrets := .root.Values.secrets -}}
- name: tmp-{{ .name | default .role }}
  emptyDir: {medium: Memory, sizeLimit: {{ eq .role "connections" | ternary "1Gi" "256Mi" }}}
- name: secrets-{{ .name | default .role }}
  projected:
    defaultMode: 0440
    sources:
      {{- range $file := .secrets }}
      {{- $from := get $secrets.elsewhere $file | default (dict "name" $secrets.name "key" $file) }}
      - secret:
          name: {{ $from.name }}
          items: [{key: {{ $from.key }}, path: {{ $file }}}]
      {{- end }}
{{- end }}

{{/* Celery's heart beats, as the image's own HEALTHCHECK looks for. */}}
{{- define "pegboard.heartbeat" -}}
startupProbe:
  exec: {command: [pegboard, healthy]}
  periodSeconds: 5
  timeoutSeconds: 10
  failureThreshold: 36
livenessProbe:
  exec: {command: [pegboard, healthy]}
  periodSeconds: 15
  timeoutSeconds: 10
{{- end }}
