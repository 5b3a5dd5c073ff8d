{{/* The image of a component: include "streamshift.image" (list . "manager") */}}
{{- define "streamshift.image" -}}
{{- $root := index . 0 -}}
{{ $root.Values.image.repository }}/{{ index . 1 }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}
{{- end }}
