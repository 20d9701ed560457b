{{/*
The chart renders manifests/base (the folder base is a link to it) with values in place of what stands there, so the
two cannot drift apart: what no value is for is as in the base.
*/}}

{{/* The documents of a file as a list of maps: {"all": [...]}. The base's namespace becomes the release's. */}}
{{- define "pumice.documents" -}}
{{- $text := .root.Files.Get .file | required (printf "the chart has no file %s" .file) -}}
{{- $text = regexReplaceAll "\\bvolcano-system\\b" $text .root.Release.Namespace -}}
{{- $all := list -}}
{{- range splitList "\n---\n" $text -}}
{{- with fromYaml (printf "%s\n" .) -}}{{- $all = append $all . -}}{{- end -}}
{{- end -}}
{{- toYaml (dict "all" $all) -}}
{{- end -}}

{{/* The documents of a file as they are. */}}
{{- define "pumice.plain" -}}
{{- range (include "pumice.documents" . | fromYaml).all }}
---
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A configuration file: text as it is, a map as YAML. */}}
{{- define "pumice.config" -}}
{{- if kindIs "string" . }}{{ . }}{{ else }}{{ toYaml . }}{{ end }}
{{- end -}}

{{/* Arguments with the flags of a map set, in their place or added: {"args": [...]}. */}}
{{- define "pumice.arguments" -}}
{{- $args := list -}}
{{- $flags := .flags -}}
{{- $seen := dict -}}
{{- range .args -}}
{{- $name := . | trimPrefix "--" | trimPrefix "-" | splitList "=" | first -}}
{{- if hasKey $flags $name -}}
{{- $_ := set $seen $name true -}}
{{- $args = append $args (printf "%s=%s" (splitList "=" . | first) (get $flags $name)) -}}
{{- else -}}
{{- $args = append $args . -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := $flags -}}
{{- if not (hasKey $seen $name) -}}
{{- $args = append $args (printf "--%s=%s" $name $value) -}}
{{- end -}}
{{- end -}}
{{- range .repeated -}}
{{- $args = append $args . -}}
{{- end -}}
{{- toYaml (dict "args" $args) -}}
{{- end -}}

{{/* --scheduler-name once for each, unless they are the preset. */}}
{{- define "pumice.schedulerNames" -}}
{{- $args := list -}}
{{- if ne (join "," .Values.schedulerNames) "volcano" -}}
{{- range .Values.schedulerNames -}}
{{- $args = append $args (printf "--scheduler-name=%s" .) -}}
{{- end -}}
{{- end -}}
{{- toYaml (dict "args" $args) -}}
{{- end -}}
