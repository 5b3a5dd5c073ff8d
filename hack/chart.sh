#!/usr/bin/env bash
# Writes the templates of the Helm chart from config/, so that there is one source of both ways to install. What may be chosen in
# values.yaml is put in the place of what kustomize has there; everything else is the same, and a test compares the two.
set -euo pipefail
cd "$(dirname "$0")/.."
templates=charts/streamshift/templates

header() { echo "{{- /* Written by hack/chart.sh from config/: change it there. */ -}}"; }
# documents FILE...: the files as one stream of YAML documents, in the release's namespace.
documents() {
  for file in "$@"; do
    echo "---"
    sed -E -e '/^---$/{1d}' -e 's/streamshift-system/{{ .Release.Namespace }}/g' "$file"
  done
}
# component NAME: what pods of a component may be told in values.yaml.
component() {
  local name=$1
  sed -E \
    -e "s|^  replicas: 2\$|  replicas: {{ .Values.$name.replicas }}|" \
    -e "s|^( *)image: streamshift/$name\$|\\1image: {{ include \"streamshift.image\" (list . \"$name\") }}|" \
    -e "s|imagePullPolicy: IfNotPresent|imagePullPolicy: {{ .Values.image.pullPolicy }}|" \
    -e "s|value: set by guard-image.yaml|value: {{ include \"streamshift.image\" (list . \"manager\") }}|" \
    -e "s|--drain-mode=Strict|--drain-mode={{ .Values.manager.drainMode }}|" \
    -e "s|^( *)- --certificates=Own\$|\\1- --certificates={{ .Values.certificates }}\n\\1{{- with .Values.gateway.dnsNames }}\n\\1- --gateway-dns-names={{ join \",\" . }}\n\\1{{- end }}|" \
    -e "s|--access=Authenticated|--access={{ .Values.gateway.access }}|" \
    -e "s|^( *)serviceAccountName: .*\$|&\\n\\1{{- with .Values.image.pullSecrets }}\\n\\1imagePullSecrets: {{ toYaml . \\| nindent 6 }}\\n\\1{{- end }}|" \
    -e "/^        resources:\$/,/^        securityContext:\$/c\\        resources: {{- toYaml .Values.$name.resources | nindent 10 }}\\n        securityContext:" |
    awk -v name="$name" '
      # More arguments follow the last one: the first line at the level of "args:" ends the list.
      /^        args:$/ { arguments = 1; print; next }
      arguments && /^        [a-z]/ { print "        {{- with .Values." name ".extraArgs }}{{ toYaml . | nindent 8 }}{{- end }}"; arguments = 0 }
      { print }'
}
# node: what only agents are told.
node() {
  awk '
    /^      labels: \*labels$/ {
      print "      labels:"
      print "        app.kubernetes.io/name: streamshift"
      print "        app.kubernetes.io/component: node"
      print "        {{- with .Values.node.podLabels }}{{ toYaml . | nindent 8 }}{{- end }}"
      next
    }
    /^        - name: STORE_URL$/ { print; print "          value: {{ .Values.store.url | quote }}"; skip = 4; next }
    skip > 0 { skip--; next }
    { print }
    /^          readOnly: true$/ {
      print "        {{- if .Values.store.volumeClaim }}"
      print "        - name: store"
      print "          mountPath: /store"
      print "        {{- end }}"
    }' |
    sed -e 's|name: streamshift-store-credentials|name: {{ .Values.store.credentialsSecret }}|' -e 's|value: 1700MiB|value: {{ .Values.node.memoryLimit }}|'
  cat <<'YAML'
      {{- if .Values.store.volumeClaim }}
      - name: store
        persistentVolumeClaim:
          claimName: {{ .Values.store.volumeClaim }}
      {{- end }}
YAML
}

{
  header
  # The kinds are templates so that an upgrade brings them up to date, and stay when the release goes: with them would go every stream.
  documents config/crd/bases/*.yaml | sed 's|^    controller-gen.kubebuilder.io/version|    helm.sh/resource-policy: keep\n&|'
} >"$templates/kinds.yaml"
{
  header
  # The release's own namespace is there already.
  awk '/^---$/ { second = 1; next } second' config/default/namespaces.yaml | documents /dev/stdin
  documents config/default/priority.yaml
} >"$templates/cluster.yaml"
{
  header
  documents config/rbac/{manager_account,manager_role,leader_election_role,node_account,node_role,gateway_account,gateway_role,guard_account,metrics_reader_role,status_viewer_role,profile_reader_role,client_roles}.yaml |
    awk '
      { print }
      /^  name: streamshift-node$/ && kind == "ServiceAccount" {
        print "  {{- with .Values.node.serviceAccountAnnotations }}"
        print "  annotations: {{- toYaml . | nindent 4 }}"
        print "  {{- end }}"
      }
      /^kind: / { kind = $2 }'
} >"$templates/rights.yaml"
{
  header
  documents config/webhook/validating.yaml config/webhook/service.yaml config/policy/admission/{agent_nodes,agent_streams,register}.yaml
} >"$templates/admission.yaml"
{
  header
  echo '{{- if .Values.networkPolicies }}'
  documents config/policy/network/network_policies.yaml
  echo '{{- end }}'
} >"$templates/network.yaml"
{ header; documents config/manager/deployment.yaml config/manager/disruption_budget.yaml | component manager; } >"$templates/manager.yaml"
{ header; documents config/node/daemonset.yaml | component node | node; } >"$templates/node.yaml"
{
  header
  documents config/gateway/{deployment,disruption_budget}.yaml | component gateway |
    sed -e 's|value: 1700MiB|value: {{ .Values.gateway.memoryLimit }}|'
  documents config/gateway/service.yaml | sed -e 's|type: ClusterIP|type: {{ .Values.gateway.service.type }}|' \
    -e 's|^spec:|  {{- with .Values.gateway.service.annotations }}\n  annotations: {{- toYaml . \| nindent 4 }}\n  {{- end }}\n&|'
  documents config/gateway/address.yaml | sed -E 's#^(  gateway: ).*#\1{{ .Values.gateway.url | default (printf "https://streamshift-gateway.%s.svc" .Release.Namespace) }}#'
} >"$templates/gateway.yaml"

# What has templates of its own, for Prometheus and Grafana, goes along as it is.
mkdir -p charts/streamshift/files
cp config/prometheus/{pod_monitor,alerts}.yaml config/grafana/streamshift.json charts/streamshift/files/
