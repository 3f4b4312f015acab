{{/* (dict "root" $ "object" OBJECT "labels" MORE): OBJECT in the release's namespace, with its labels. */}}
{{- define "ioc-exporter.object" -}}
{{- $version := .root.Chart.Version | replace "+" "_" -}}
{{- $own := dict "app.kubernetes.io/instance" .root.Release.Name "app.kubernetes.io/managed-by" .root.Release.Service
      "app.kubernetes.io/version" $version "helm.sh/chart" (printf "%s-%s" .root.Chart.Name $version | trunc 63) -}}
{{- $_ := set .object.metadata "namespace" .root.Release.Namespace -}}
{{- $_ := set .object.metadata "labels" (merge (dict) .object.metadata.labels $own (.labels | default dict)) -}}
{{- toYaml .object -}}
{{- end -}}
