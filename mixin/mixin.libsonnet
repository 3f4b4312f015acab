// Alerts, recording rules and dashboards of ioc_exporter, as monitoring-mixins have them: prometheusAlerts,
// prometheusRules and grafanaDashboards, with _config to set. `topics` are the files that alerts/ has of them.
local drivers = import 'alerts/drivers.libsonnet';
local exporter = import 'alerts/exporter.libsonnet';
local iocs = import 'alerts/iocs.libsonnet';
local puts = import 'alerts/puts.libsonnet';
local records = import 'alerts/records.libsonnet';

(import 'config.libsonnet') +
(import 'rules/exporter.libsonnet') + exporter +
(import 'rules/iocs.libsonnet') + iocs +
(import 'rules/puts.libsonnet') + puts +
records +
drivers +
(import 'dashboards.libsonnet') +
(import 'runbooks.libsonnet') +
{
  topics+:: {},

  local all(kind) = [
    group
    for topic in std.objectFields($.topics)
    for group in std.get($.topics[topic], kind, [])
  ],
  prometheusRules+:: { groups+: all('rules') },
  local keepFiring(rule) = if $._config.keepFiring then rule else {
    [key]: rule[key]
    for key in std.objectFields(rule)
    if key != 'keep_firing_for'
  },
  prometheusAlerts+:: { groups+: [
    group { rules: [if 'alert' in rule then keepFiring($.completed(rule)) else rule for rule in group.rules] }
    for group in all('alerts')
  ] },
}
