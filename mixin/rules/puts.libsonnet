// Puts over Channel Access and PV Access. Each duration is there for both ways to scrape it: as a classic histogram (_bucket, _sum,
// _count) or, after "or", as a native one, whose series has the plain name.
// Recording rules, named level:metric:operations; the level names the labels that are left beside job and instance.
{
  topics+:: { puts+: {
    rules+: [
      {
        name: 'epics_puts_rates',
        // The rules ...:avg1h below divide by the times in an hour.
        interval: '%ds' % $._config.ratesIntervalSeconds,
        rules: [
          {
            record: 'ioc_protocol:epics_puts:rate5m',
            expr: 'sum by (job, instance, ioc, protocol) (rate(epics_puts_total[5m]))',
          },
          // Without what gateways pass on, which their own servers count.
          {
            record: 'ioc_protocol:epics_puts_once:rate5m',
            expr: 'sum by (job, instance, ioc, protocol) (rate(epics_puts_total[5m]) unless on (job, instance, ioc, client) epics_gateway_info)',
          },
          // Over both protocols, as all that follows.
          {
            record: 'ioc_pv:epics_puts:rate5m',
            expr: 'sum by (job, instance, ioc, pv) (rate(epics_puts_total[5m]))',
          },
          {
            record: 'ioc_client_user:epics_puts:rate5m',
            expr: 'sum by (job, instance, ioc, client, user, client_host) (rate(epics_puts_total[5m]))',
          },
          {
            record: 'ioc_reason:epics_put_failures:rate5m',
            expr: 'sum by (job, instance, ioc, reason) (rate(epics_put_failures_total[5m]))',
          },
          {
            record: 'ioc_le:epics_put_duration_seconds_bucket:rate5m',
            expr: 'sum by (job, instance, ioc, le) (rate(epics_put_duration_seconds_bucket[5m]))',
          },
          // For the panels of all IOCs: by host, and of clients the busiest of each host.
          {
            record: 'instance_le:epics_put_duration_seconds_bucket:rate5m',
            expr: 'sum by (job, instance, le) (ioc_le:epics_put_duration_seconds_bucket:rate5m)',
          },
          {
            record: 'job_le:epics_put_duration_seconds_bucket:rate5m',
            expr: 'sum by (job, le) (instance_le:epics_put_duration_seconds_bucket:rate5m)',
          },
          {
            record: 'instance_protocol:epics_puts:rate5m',
            expr: 'sum by (job, instance, protocol) (ioc_protocol:epics_puts:rate5m)',
          },
          {
            record: 'instance_protocol:epics_puts_once:rate5m',
            expr: 'sum by (job, instance, protocol) (ioc_protocol:epics_puts_once:rate5m)',
          },
          {
            record: 'instance:epics_puts_of_gateways:rate5m',
            expr: 'sum by (job, instance) (rate(epics_puts_total[5m]) and on (job, instance, ioc, client) epics_gateway_info)',
          },
          {
            record: 'instance_reason:epics_put_failures:rate5m',
            expr: 'sum by (job, instance, reason) (ioc_reason:epics_put_failures:rate5m)',
          },
          {
            record: 'instance_client_user:epics_puts_top:rate5m',
            expr: |||
              topk by (job, instance) (20,
                sum by (job, instance, client, user, client_host) (ioc_client_user:epics_puts:rate5m) > 0
              )
            |||,
          },
          // And of all hosts.
          {
            record: 'job_client_user:epics_puts_top:rate5m',
            expr: |||
              topk by (job) (20,
                sum by (job, client, user, client_host) (instance_client_user:epics_puts_top:rate5m)
              )
            |||,
          },
          {
            record: 'ioc_pv:epics_put_duration_seconds:mean5m',
            expr: |||
              sum by (job, instance, ioc, pv) (rate(epics_put_duration_seconds_sum[5m]))
                / (sum by (job, instance, ioc, pv) (rate(epics_put_duration_seconds_count[5m])) > 0)
                or
              sum by (job, instance, ioc, pv) (histogram_sum(rate(epics_put_duration_seconds[5m])))
                / (sum by (job, instance, ioc, pv) (histogram_count(rate(epics_put_duration_seconds[5m]))) > 0)
            |||,
          },
        ],
      },
      {
        name: 'epics_puts_usual',
        interval: '%ds' % $._config.usualIntervalSeconds,
        rules: [
          // The average over each hour, and of those over the whole day, silence included: what was not there counts as
          // 0. The last quarter of an hour is left out, so that a storm is not measured by itself. A day of minutes
          // would be sixty times as much to read.
          {
            record: 'ioc_client_user:epics_puts:avg1h',
            expr: 'sum_over_time(ioc_client_user:epics_puts:rate5m[1h]) / %d' % (3600 / $._config.ratesIntervalSeconds),
          },
          {
            record: 'ioc_client_user:epics_puts:avg1d',
            expr: 'sum_over_time(ioc_client_user:epics_puts:avg1h[1d:1h] offset 15m) / 24',
          },
          {
            record: 'ioc_pv:epics_puts:avg1h',
            expr: 'sum_over_time(ioc_pv:epics_puts:rate5m[1h]) / %d' % (3600 / $._config.ratesIntervalSeconds),
          },
          {
            record: 'ioc_pv:epics_puts:avg1d',
            expr: 'sum_over_time(ioc_pv:epics_puts:avg1h[1d:1h] offset 15m) / 24',
          },
          // Of the times at which there were puts.
          {
            record: 'ioc_pv:epics_put_duration_seconds:avg1h',
            expr: 'avg_over_time(ioc_pv:epics_put_duration_seconds:mean5m[1h])',
          },
          {
            record: 'ioc_pv:epics_put_duration_seconds:avg1d',
            expr: 'avg_over_time(ioc_pv:epics_put_duration_seconds:avg1h[1d:1h] offset 1h)',
          },
        ],
      },
    ],
  } },
}
