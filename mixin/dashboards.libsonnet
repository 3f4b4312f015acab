// The dashboards. Their panels are written in dashboards/source, which checks them against Grafana's own schema while
// it makes the files that are taken from there; what a site sets is put in here.
local files = {
  'exporter.json': importstr '../dashboards/exporter.json',
  'iocs.json': importstr '../dashboards/iocs.json',
  'puts.json': importstr '../dashboards/puts.json',
  'records.json': importstr '../dashboards/records.json',
};
// As board.py writes it.
local runbook = 'http://${exporter}/runbooks/${__value.raw:percentencode}';

{
  local here = $.runbookURL('${__value.raw:percentencode}', '${exporter}'),

  grafanaDashboards+:: {
    [name]: std.parseJson(std.strReplace(files[name], runbook, here)) {
      tags: $._config.dashboardTags,
      refresh: $._config.dashboardRefresh,
      time+: { from: $._config.dashboardFrom },
      links: [link { tags: $._config.dashboardTags } for link in super.links],
    }
    for name in std.objectFields(files)
  },
}
