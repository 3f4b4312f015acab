// The exporter itself: whether what the dashboards show is all there is.
// Recording rules, named level:metric:operations; the level names the labels that are left beside job and instance.
{
  topics+:: { exporter+: {
    rules+: [
      {
        name: 'ioc_exporter_hosts',
        rules: [
          // Also while the exporter does not answer: else an alert's labels would change with it.
          {
            record: 'instance:epics_host_info:last',
            expr: |||
              epics_host_info
                or (
                  last_over_time(instance:epics_host_info:last[1h])
                    and on (job, instance) last_over_time(up{job="%(job)s"}[1h])
                    unless on (job, instance) epics_host_info
                )
            ||| % $._config,
          },
          {
            record: 'instance:ioc_exporter_clock_ahead_seconds:last',
            expr: 'ioc_exporter_time_seconds - timestamp(ioc_exporter_time_seconds)',
          },
        ],
      },
      {
        name: 'ioc_exporter_rates',
        interval: '%ds' % $._config.ratesIntervalSeconds,
        rules: [
          {
            record: 'instance_probe_reason:ioc_exporter_dropped:rate5m',
            expr: |||
              sum by (job, instance, probe, reason) (
                rate(ioc_exporter_dropped_total[5m])
              )
            |||,
          },
          // For what was dropped on all hosts over a day: of each host that would be millions of samples. The dashboard
          // multiplies by the seconds from one evaluation to the next.
          {
            record: 'job_probe_reason:ioc_exporter_dropped:rate5m',
            expr: 'sum by (job, probe, reason) (instance_probe_reason:ioc_exporter_dropped:rate5m)',
          },
        ],
      },
    ],
  } },
}
