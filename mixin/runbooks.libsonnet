// Where an alert's page is. The exporter that the alert is about serves it, unless that is down, or the alert is about
// none: then any that answers.
{
  local withoutExporter = ['EpicsSearchStorm', 'IocExporterDown', 'IocExporterNoTargets'],
  local anyExporter =
    '{{ with printf "up{job=%%q} == 1" "%s" | query }}{{ . | first | label "instance" }}{{ else }}localhost:10064{{ end }}' % $._config.job,

  runbookURL(alert, exporter):: $._config.runbookURLPattern % { alert: alert, exporter: exporter },

  withRunbook(rule)::
    local exporter = if std.member(withoutExporter, rule.alert) then anyExporter else '{{ $labels.instance }}';
    rule { annotations+: { runbook_url: $.runbookURL(rule.alert, exporter) } },
}
