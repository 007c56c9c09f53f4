{{- /* Names leave room for the longest suffix, "-workloads", within the 63 characters of a label. */ -}}
{{- define "valkey-operator.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{- define "valkey-operator.fullname" -}}
{{- $name := include "valkey-operator.name" . -}}
{{- $both := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- .Values.fullnameOverride | default $both | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{- define "valkey-operator.serviceAccount" -}}
{{- $own := .Values.serviceAccount.create | ternary (include "valkey-operator.fullname" .) "default" -}}
{{- .Values.serviceAccount.name | default $own -}}
{{- end -}}

{{- define "valkey-operator.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- $which := .Values.image.digest | empty | ternary (printf ":%s" $tag) (printf "@%s" .Values.image.digest) -}}
{{- print .Values.image.repository $which -}}
{{- end -}}

{{- define "valkey-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "valkey-operator.name" . }}
app.kubernetes.io/instance: {{ toYaml .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "valkey-operator.labels" -}}
{{- $own := include "valkey-operator.selectorLabels" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") -}}
{{- merge $own .Values.commonLabels | toYaml -}}
{{- end -}}

{{- define "valkey-operator.podLabels" -}}
{{- $own := include "valkey-operator.selectorLabels" . | fromYaml -}}
{{- merge $own .Values.podLabels .Values.commonLabels | toYaml -}}
{{- end -}}

{{- /* Name, namespace, labels and annotations of an object. Takes a dict: root and suffix; scope where it is not the
       release's namespace, the empty one for an object of the cluster; annotations where there are more. */ -}}
{{- define "valkey-operator.metadata" -}}
name: {{ include "valkey-operator.fullname" .root }}{{ .suffix }}
{{- with hasKey . "scope" | ternary .scope .root.Release.Namespace }}
namespace: {{ toYaml . }}
{{- end }}
labels:
  {{- include "valkey-operator.labels" .root | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "valkey-operator.subjects" -}}
- kind: ServiceAccount
  name: {{ include "valkey-operator.serviceAccount" . }}
  namespace: {{ toYaml .Release.Namespace }}
{{- end -}}
