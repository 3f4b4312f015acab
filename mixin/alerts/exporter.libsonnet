// The exporter itself: whether what the dashboards show is all there is.
// Alerts. Each has its page in docs/runbooks/.
{
  topics+:: { exporter+: {
    alerts+: [
      {
        name: 'ioc_exporter',
        rules: [
          {
            alert: 'IocExporterDown',
            expr: 'max_over_time(up{job="%(job)s"}[5m]) == 0' % $._config,
            'for': '1m',
            labels: { severity: 'critical' },
            annotations: {
              summary: 'No metrics from {{ $labels.instance }}',
              description: 'Prometheus cannot scrape the exporter at {{ $labels.instance }}. What its IOCs do is not seen, ' +
                           'and no other alert can fire for them.',
              until_morning: 'The IOCs are not touched. Until then their failures are not reported, and puts are not counted.',
              command: 'On that host: systemctl status ioc_exporter',
            },
          },
          // Ten changes: five failures with a success between them.
          {
            alert: 'IocExporterScrapesFail',
            expr: 'changes(up{job="%(job)s"}[1h]) >= 10' % $._config,
            labels: { severity: 'warning' },
            annotations: {
              summary: 'Scrapes of {{ $labels.instance }} fail again and again',
              description: 'In the last hour Prometheus got no answer from the exporter at {{ $labels.instance }} again and ' +
                           'again, with answers between. Alerts about its IOCs may be late or missing.',
            },
          },
          {
            alert: 'IocExporterScrapesSlow',
            expr: |||
              avg_over_time(scrape_duration_seconds{job="%(job)s"}[15m]) > 0.7 * %(scrapeTimeoutSeconds)g
                and on (job, instance) max_over_time(up{job="%(job)s"}[5m]) == 1
            ||| % $._config,
            'for': '5m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'Scrapes of {{ $labels.instance }} take {{ humanizeDuration $value }}',
              description: 'Scrapes of the exporter at {{ $labels.instance }} take {{ humanizeDuration $value }}; after ' +
                           '%(scrapeTimeoutSeconds)g s Prometheus gives up, and nothing of its IOCs is seen.' % $._config,
            },
          },
          // Whoever takes the targets away, by mistake or not, silences all others.
          {
            alert: 'IocExporterNoTargets',
            expr: 'absent(up{job="%(job)s"})' % $._config,
            'for': '10m',
            labels: { severity: 'critical' },
            annotations: {
              summary: 'Prometheus has no target with job {{ $labels.job }}',
              description: 'No ioc_exporter is scraped, up or down, for 10 minutes: the job is not in Prometheus\' ' +
                           'configuration, or its service discovery finds nothing. No other alert can fire for any IOC.',
              until_morning: 'The IOCs are not touched. Until then their failures are not reported.',
              command: 'On the host of Prometheus: promtool check config /etc/prometheus/prometheus.yml',
            },
          },
          {
            alert: 'IocExporterProbeNotLoaded',
            expr: 'ioc_exporter_probe_loaded == 0',
            'for': '2m',
            labels: { severity: 'critical' },
            annotations: {
              summary: 'Probe {{ $labels.probe }} is not loaded on {{ $labels.instance }}',
              description: 'The exporter at {{ $labels.instance }} runs without its probe {{ $labels.probe }}: what that ' +
                           'counts is missing.',
              until_morning: 'The IOCs run on. What this probe counts is missing until then, for good.',
              command: 'On that host: ioc_exporter --check',
            },
          },
          {
            alert: 'IocExporterDetached',
            expr: 'ioc_exporter_detached == 1',
            'for': '15m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'All probes on {{ $labels.instance }} are detached',
              description: 'Somebody took off all probes of the exporter at {{ $labels.instance }} (SIGUSR1 or POST ' +
                           '/-/detach) over 15 minutes ago: nothing is counted until they are attached again.',
            },
          },
          {
            alert: 'IocExporterRecordsNotCounted',
            // Over its budget an IOC is counted for a second every few minutes, or in and out of its budget: told once.
            expr: |||
              avg_over_time(epics_ioc_records_watched[15m]) < 0.5
                and on (job, instance, ioc) last_over_time(epics_ioc_up[5m]) == 1
                unless on (job, instance) last_over_time(ioc_exporter_detached[5m]) == 1
            |||,
            'for': '10m',
            keep_firing_for: '1h',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'Records of {{ $labels.ioc }} are not counted',
              description: 'The exporter at {{ $labels.instance }} does not count the records of IOC {{ $labels.ioc }}. Its ' +
                           'page says why.',
            },
          },
          {
            alert: 'IocExporterNothingCounted',
            expr: 'epics_ioc_nothing_counted == 1',
            'for': '5m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'The probes on {{ $labels.ioc }} see nothing',
              description: 'IOC {{ $labels.ioc }} beside the exporter at {{ $labels.instance }} uses CPU time, and the record ' +
                           'probes on it have seen nothing for five minutes.',
            },
          },
          {
            alert: 'IocExporterEventsDropped',
            expr: |||
              sum by (job, instance, probe, reason) (increase(ioc_exporter_dropped_total[10m])) >= %(droppedEvents)d
            ||| % $._config,
            'for': '5m',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $labels.instance }} loses events: {{ $labels.probe }}, {{ $labels.reason }}',
              description: 'Probe {{ $labels.probe }} of the exporter at {{ $labels.instance }} lost about ' +
                           '{{ printf "%.0f" $value }} events in 10 minutes, reason {{ $labels.reason }}' +
                           '{{ range printf "ALERTS_FOR_STATE{alertname=\\"IocExporterEventsDropped\\", job=%q, instance=%q, probe=%q, reason=%q}" ' +
                           '$labels.job $labels.instance $labels.probe $labels.reason | query }}, since ' +
                           '{{ .Value | humanizeTimestamp }}{{ end }}: its counts are too low.',
            },
          },
          {
            alert: 'IocExporterVerdictsUnknown',
            expr: 'sum by (job, instance) (increase(ioc_exporter_dropped_total{probe="putlog", reason="full"}[10m])) > 0',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $labels.instance }} does not know the verdict on some puts',
              description: 'The put log of the exporter at {{ $labels.instance }} lost about {{ printf "%.0f" $value }} puts in ' +
                           '10 minutes before the policy judged them: forbidden ones may be among them.',
            },
          },
          {
            alert: 'IocExporterSinkDrops',
            expr: |||
              sum by (job, instance, sink, events, reason) (increase(ioc_exporter_sink_dropped_total[10m])) >= %(droppedEvents)d
            ||| % $._config,
            'for': '5m',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $labels.sink }} of {{ $labels.instance }} misses {{ $labels.events }}: {{ $labels.reason }}',
              description: 'The sink {{ $labels.sink }} of the exporter at {{ $labels.instance }} did not take about ' +
                           '{{ printf "%.0f" $value }} {{ $labels.events }} in 10 minutes, reason {{ $labels.reason }}, and ' +
                           'will not get them later.',
            },
          },
          {
            alert: 'IocExporterOverBudget',
            expr: 'sum without (probe) (rate(ioc_exporter_ioc_overhead_seconds_total{probe!~".*_server_probe"}[5m])) > %(overheadShare)g' % $._config,
            'for': '10m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'Probes cost {{ $labels.ioc }} {{ humanizePercentage $value }} of a core',
              description: 'The probes cost IOC {{ $labels.ioc }} on {{ $labels.instance }} ' +
                           '{{ humanizePercentage $value }} of a core, over the budget of 25 %.',
            },
          },
          {
            alert: 'IocExporterPutsOverBudget',
            // A flood of puts does not take their probes off: it would hide its sender.
            expr: 'sum without (probe) (rate(ioc_exporter_ioc_overhead_seconds_total{probe=~".*_server_probe"}[5m])) > %(putsShare)g' % $._config,
            'for': '10m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'To count puts costs {{ $labels.ioc }} {{ humanizePercentage $value }} of a core',
              description: 'To count its puts costs IOC {{ $labels.ioc }} on {{ $labels.instance }} ' +
                           '{{ humanizePercentage $value }} of a core, which no budget bounds.',
            },
          },
          {
            alert: 'IocExporterSeriesLimited',
            // A network has as many clients that search, and servers, as it has: they are summed for good.
            expr: 'ioc_exporter_series_limited{family!~"searches|beacons"} > 0',
            'for': '15m',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $labels.instance }} sums up series of {{ $labels.family }}',
              description: '{{ $value }} series of {{ $labels.family }} are over the limit of the exporter at ' +
                           '{{ $labels.instance }}: they are summed in one, labelled (other).',
            },
          },
          // Not maps that are made to fit one IOC, nor those whose oldest entry makes room for the next.
          {
            alert: 'IocExporterIocsLeftOut',
            expr: 'sum by (job, instance) (ioc_exporter_iocs_left_out) > 0',
            'for': '1m',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $value }} IOCs on {{ $labels.instance }} are not followed',
              description: '{{ $value }} IOCs run beside the exporter at {{ $labels.instance }} and are not followed, ' +
                           'because all places are taken.',
            },
          },
          {
            alert: 'IocExporterMapNearlyFull',
            expr: |||
              ioc_exporter_map_entries{map!~"ioc_.+|ca_searches|put_notifies"} / ioc_exporter_map_capacity > %(kernelMapShare)g
            ||| % $._config,
            'for': '10m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'Kernel map {{ $labels.map }} on {{ $labels.instance }} is nearly full',
              description: '{{ humanizePercentage $value }} of the entries of map {{ $labels.map }} of the exporter at ' +
                           '{{ $labels.instance }} are in use. What does not fit is dropped and counted.',
            },
          },
          {
            alert: 'IocExporterCollectorFailed',
            expr: 'ioc_exporter_collector_success == 0',
            'for': '15m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'Collector {{ $labels.collector }} fails on {{ $labels.instance }}',
              description: 'Collector {{ $labels.collector }} of the exporter at {{ $labels.instance }} has not given all ' +
                           'that it should for 15 minutes. The exporter\'s log says why.',
            },
          },
          {
            alert: 'IocExporterConfigReloadFailed',
            expr: 'ioc_exporter_config_last_reload_successful == 0',
            'for': '5m',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $labels.instance }} refuses its new configuration file',
              description: 'The exporter at {{ $labels.instance }} could not take over its configuration file: the one ' +
                           'before is still in force.',
            },
          },
          {
            alert: 'IocExporterClockDiffers',
            expr: 'abs(last_over_time(instance:ioc_exporter_clock_ahead_seconds:last[1h])) > %(clockSeconds)g' % $._config,
            'for': '5m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'The clocks of {{ $labels.instance }} and Prometheus differ by {{ humanizeDuration $value }}',
              description: 'The host\'s clock at {{ $labels.instance }} and that of Prometheus differ by ' +
                           '{{ humanizeDuration $value }}. Times of puts, in the put log and in EPICS are by the host\'s clock.',
            },
          },
          {
            alert: 'IocExporterCertificateExpires',
            expr: 'ioc_exporter_tls_certificate_expiry_timestamp_seconds - time() < %(certificateDays)d * 86400' % $._config,
            'for': '1h',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'The certificate of {{ $labels.instance }} expires soon',
              description: 'A certificate that the exporter at {{ $labels.instance }} serves expires in ' +
                           '{{ humanizeDuration $value }}. Prometheus does not scrape it from then on.',
            },
          },
        ],
      },
    ],
  } },
}
