{{/* Parts that server and site share. Each takes a list: the root, and the name of the part. */}}

{{- define "tacet.name" -}}
{{- printf "%s-%s" (index . 0).Release.Name (index . 1) | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "tacet.selector" -}}
app.kubernetes.io/name: tacet
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "tacet.labels" -}}
{{ include "tacet.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
{{- end -}}

{{- define "tacet.image" -}}
image: {{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end -}}

{{- define "tacet.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{- define "tacet.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{/* Kubernetes mounts a Secret readable for a group. The programs want files of their user alone, so
a copy in memory has that mode. Files that a Secret lacks are left out. */}}
{{- define "tacet.secretsCopy" -}}
- name: secrets
  {{- include "tacet.image" . | nindent 2 }}
  command:
    - /bin/sh
    - -euc
    - |
      umask 077
      for file in /secrets/*/*; do
        [ ! -f "$file" ] || install -m 0400 "$file" "/run/tacet/${file##*/}"
      done
  {{- include "tacet.containerSecurity" . | nindent 2 }}
  resources:
    requests: {cpu: 10m, memory: 16Mi}
    limits: {cpu: 100m, memory: 64Mi}
{{- end -}}

{{- define "tacet.waiting" -}}
command: [/bin/sh, -c, "trap 'exit 0' TERM; while :; do sleep 1; done"]
{{- end -}}

{{- define "tacet.claim" -}}
accessModes: [{{ .accessMode }}]
{{- with .className }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests:
    storage: {{ .size }}
{{- end -}}

{{/* Names of other hosts are looked up wherever the cluster's name server is. */}}
{{- define "tacet.nameServers" -}}
- ports:
    - {protocol: UDP, port: 53}
    - {protocol: TCP, port: 53}
{{- end -}}
