// Single records.
// Alerts. Each has its page in docs/runbooks/.
{
  topics+:: { records+: {
    alerts+: [
      // Of the records that the site names (alerts/examples/records.yml). One alert for each IOC, which names some records: a
      // dead thread stops a thousand of them. After an IOC's restart a record has no series before it processes.
      {
        name: 'epics_records',
        rules: [
          {
            alert: 'EpicsRecordsStopped',
            expr: |||
              count without (record, record_type) (
                last_over_time(ioc_record:epics_record_process:rate5m[1d])
                unless ignoring (record_type) ioc_record:epics_record_process:rate5m > 0
              ) and on (job, instance, ioc) epics_ioc_records_watched == 1
            |||,
            'for': '10m',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $value }} records of {{ $labels.ioc }} have stopped processing',
              description: '{{ $value }} records of IOC {{ $labels.ioc }} on {{ $labels.instance }} have not processed for ' +
                           '15 minutes or more. Among them: ' +
                           '{{ range printf "topk(10, last_over_time(ioc_record:epics_record_process:rate5m{job=%q, instance=%q, ioc=%q}[1d]) unless ignoring (record_type) ioc_record:epics_record_process:rate5m > 0)" $labels.job $labels.instance $labels.ioc | query | sortByLabel "record" }}{{ .Labels.record }} ' +
                           '{{ end }}',
            },
          },
        ],
      },
    ],
  } },
}
