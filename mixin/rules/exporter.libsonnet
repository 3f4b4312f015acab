// The exporter itself: whether what the dashboards show is all there is.
// Recording rules, named level:metric:operations; the level names the labels that are left beside job and instance.
{
  topics+:: { exporter+: {
    rules+: [
      {
        name: 'ioc_exporter_rates',
        interval: '%ds' % $._config.ratesIntervalSeconds,
        rules: [
          // Without the reasons that are usual and behind which nothing is lost.
          {
            record: 'instance_probe_reason:ioc_exporter_dropped:rate5m',
            expr: |||
              sum by (job, instance, probe, reason) (
                rate(ioc_exporter_dropped_total{lost="true"}[5m])
              )
            |||,
          },
        ],
      },
    ],
  } },
}
