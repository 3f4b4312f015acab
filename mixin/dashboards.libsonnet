// The dashboards. Their panels are written in dashboards/source, which checks them against Grafana's own schema while
// it makes the files that are taken from there; what a site sets is put in here.
local files = {
  'exporter.json': importstr '../dashboards/exporter.json',
  'iocs.json': importstr '../dashboards/iocs.json',
  'overview.json': importstr '../dashboards/overview.json',
  'puts.json': importstr '../dashboards/puts.json',
  'records.json': importstr '../dashboards/records.json',
};
// As board.py writes it.
local runbook = 'http://${exporter}/runbooks/${__value.raw:percentencode}';
// Sums of what rules recorded each minute: events, of rates.
local ofAMinute = '60 * sum_over_time(';

{
  local ofTheInterval = '%d * sum_over_time(' % $._config.ratesIntervalSeconds,
  local here = $.exporterRunbookURL('${__value.raw:percentencode}', 'http://${exporter}'),

  grafanaDashboards+:: {
    [name]: std.parseJson(std.strReplace(std.strReplace(files[name], runbook, here), ofAMinute, ofTheInterval)) {
      tags: $._config.dashboardTags,
      refresh: $._config.dashboardRefresh,
      time+: { from: $._config.dashboardFrom },
      links: [if link.tags == [] then link else link { tags: $._config.dashboardTags } for link in super.links],
    }
    for name in std.objectFields(files)
  },
}
