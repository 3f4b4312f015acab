// Common to all alerts: the link to their page, and the labels area and owner.
{
  local config = $._config,

  // The exporter that the alert is about serves its page, unless that is down, or the alert is about none: then any that
  // answers.
  local withoutHost = ['EpicsSearchStorm', 'IocExporterNoTargets'],
  local withoutExporter = withoutHost + ['IocExporterDown'],
  local anyExporter =
    '{{ $at := "localhost" }}{{ with printf "up{job=%%q} == 1" "%s" | query }}{{ $at = . | first | label "instance" }}{{ end }}' % config.job,
  local exporter =
    '{{ if not (match "^https?://" $at) }}%s://{{ end }}{{ $at }}{{ if not (match ":[0-9]+/?$" $at) }}:%d{{ end }}'
    % [config.exporterScheme, config.exporterPort],

  local indented(text) = '  ' + std.strReplace(std.rstripChars(text, '\n'), '\n', '\n  '),

  // Labels area and owner: of the target or of the host's site file, as the exporter says, or said when it answered last. They
  // are joined, not asked for by a template: the first evaluation of an alert has them. Always one series a target, or the alert
  // would be lost.
  local ofHost(expr) = |||
    (
    %s
    ) * on (job, instance) group_left (area, owner) topk by (job, instance) (1,
      epics_host_info or on (job, instance) instance:epics_host_info:last or on (job, instance) 0 * last_over_time(up{job="%s"}[1h]) + 1)
  ||| % [indented(expr), config.job],

  // The site's page, or the exporter's.
  runbookURL(alert, exporter)::
    if config.runbookURLPattern != '' then config.runbookURLPattern % { alert: alert } else exporter + '/runbooks/' + alert,

  completed(rule)::
    local at = if std.member(withoutExporter, rule.alert) then anyExporter else '{{ $at := $labels.instance }}';
    rule {
      annotations+: { runbook_url: $.runbookURL(rule.alert, at + exporter) },
      expr: if std.member(withoutHost, rule.alert) then super.expr else ofHost(super.expr),
    },
}
