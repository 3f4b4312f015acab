// Common to all alerts: the links to their page, and their labels area and owner.
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

  // As the site's file of the host says, unless Prometheus knows better. Never empty: ALERTS would have this text then.
  local ofHost(name) =
    '{{ with $labels.%(name)s }}{{ . }}{{ else }}{{ with printf "instance:epics_host_info:last{job=%%q, instance=%%q, %(name)s!=\\"\\"}" $labels.job $labels.instance | query }}{{ . | first | label "%(name)s" }}{{ else }}unknown{{ end }}{{ end }}'
    % { name: name },

  exporterRunbookURL(alert, exporter):: config.exporterRunbookURLPattern % { alert: alert, exporter: exporter },

  completed(rule)::
    local at = if std.member(withoutExporter, rule.alert) then anyExporter else '{{ $at := $labels.instance }}';
    rule {
      annotations+: {
        runbook_url: config.runbookURLPattern % { alert: rule.alert },
        runbook_on_exporter: at + $.exporterRunbookURL(rule.alert, exporter),
      },
      labels+: if std.member(withoutHost, rule.alert) then {} else { area: ofHost('area'), owner: ofHost('owner') },
    },
}
