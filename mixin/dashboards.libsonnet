// The dashboards. Their panels are written in dashboards/source, which checks them against Grafana's own schema while
// it makes the files that are taken from there; what a site sets is put in here.
local files = {
  'drivers.json': importstr '../dashboards/drivers.json',
  'exporter.json': importstr '../dashboards/exporter.json',
  'iocs.json': importstr '../dashboards/iocs.json',
  'overview.json': importstr '../dashboards/overview.json',
  'puts.json': importstr '../dashboards/puts.json',
  'records.json': importstr '../dashboards/records.json',
};
// As board.py and panels.py write them: the page of an alert, and what makes an exporter's URL of the label `instance`.
local runbook = '${exporter}/runbooks/${__value.raw:percentencode}';
local scheme = '\\"http://$1\\", \\"instance\\"';
local port = '\\"$1:10064\\", \\"url\\"';
// Sums of what rules recorded each minute: events, of rates.
local ofAMinute = '60 * sum_over_time(';

{
  local ofTheInterval = '%d * sum_over_time(' % $._config.ratesIntervalSeconds,
  local hasLogs(panel) = std.member([inside.type for inside in std.get(panel, 'panels', [])], 'logs'),
  // Constants of a dashboard, by name.
  local settings = { archiver: $._config.archiverURL, phoebus: $._config.phoebusApplication },
  local changes = [
    [runbook, $.runbookURL('${__value.raw:percentencode}', '${exporter}')],
    [scheme, std.strReplace(scheme, 'http', $._config.exporterScheme)],
    [port, std.strReplace(port, '10064', '%d' % $._config.exporterPort)],
    [ofAMinute, ofTheInterval],
  ],

  grafanaDashboards+:: {
    [name]: std.parseJson(std.foldl(function(text, change) std.strReplace(text, change[0], change[1]), changes, files[name])) {
      tags: $._config.dashboardTags,
      refresh: $._config.dashboardRefresh,
      time+: { from: $._config.dashboardFrom },
      panels: [panel for panel in super.panels if $._config.loki || !hasLogs(panel)],
      templating+: { list: [
        if std.objectHas(settings, variable.name) then variable { query: settings[variable.name] } else variable
        for variable in super.list
        if $._config.loki || variable.name != 'logs'
      ] },
      links: [if link.tags == [] then link else link { tags: $._config.dashboardTags } for link in super.links],
    }
    for name in std.objectFields(files)
  },
}
