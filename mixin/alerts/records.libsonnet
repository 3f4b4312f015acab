// Single records.
// Alerts. Each has its page in docs/runbooks/.
{
  topics+:: { records+: {
    alerts+: [
      // The exporter itself finds unusual records: it sees each record, and knows restarts, quiet nights and times
      // without probes. One alert for each IOC, which names some records: a dead thread stops a thousand of them.
      {
        name: 'epics_records',
        rules: [
          {
            alert: 'EpicsRecordSurge',
            expr: 'epics_ioc_records_surging > 0',
            'for': '4m',
            keep_firing_for: '5m',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $value }} records of {{ $labels.ioc }} process far more often than usual',
              description: '{{ $value }} records of IOC {{ $labels.ioc }} on {{ $labels.instance }} process over 20 times a ' +
                           'second, and over 10 times as often as ever before. Among them: ' +
                           '{{ range printf "sort_desc(epics_record_surge_rate{job=%q, instance=%q, ioc=%q})" $labels.job $labels.instance $labels.ioc | query }}{{ .Labels.record }} ' +
                           '({{ printf "%.0f" .Value }}/s) {{ end }}',
            },
          },
          {
            alert: 'EpicsRecordsStopped',
            expr: 'epics_ioc_records_stopped > 0',
            'for': '4m',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $value }} records of {{ $labels.ioc }} have stopped processing',
              description: '{{ $value }} records of IOC {{ $labels.ioc }} on {{ $labels.instance }} have not processed for ' +
                           '10 minutes or more, and never rested for so long before. Among them: ' +
                           '{{ range printf "epics_record_stopped_seconds{job=%q, instance=%q, ioc=%q}" $labels.job $labels.instance $labels.ioc | query | sortByLabel "record" }}{{ .Labels.record }} ' +
                           '{{ end }}',
            },
          },
        ],
      },
    ],
  } },
}
