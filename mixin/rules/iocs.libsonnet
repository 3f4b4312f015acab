// IOCs: what dashboards and alerts share, and the alerts.
// Recording rules, named level:metric:operations; the level names the labels that are left beside job and instance.
{
  topics+:: { iocs+: {
    rules+: [
      {
        name: 'epics_iocs_rates',
        interval: '%ds' % $._config.ratesIntervalSeconds,
        rules: [
          {
            record: 'ioc:epics_ioc_processings:rate5m',
            expr: 'sum by (job, instance, ioc) (rate(epics_ioc_processings_total[5m]))',
          },
          {
            record: 'ioc:epics_ioc_cpu_seconds:rate5m',
            expr: 'sum by (job, instance, ioc) (rate(epics_ioc_process_cpu_seconds_total[5m]))',
          },
          // How much of its period a pass takes. Over all IOCs it would be a query of seconds.
          {
            record: 'ioc_period:epics_ioc_scan_load:mean5m',
            expr: |||
              sum by (job, instance, ioc, period) (
                rate(epics_ioc_scan_list_duration_seconds_sum[5m])
                  / (rate(epics_ioc_scan_list_duration_seconds_count[5m]) > 0)
                  or
                histogram_sum(rate(epics_ioc_scan_list_duration_seconds[5m]))
                  / (histogram_count(rate(epics_ioc_scan_list_duration_seconds[5m])) > 0)
              ) / max by (job, instance, ioc, period) (epics_ioc_scan_period_seconds)
            |||,
          },
          // For the panels of all IOCs: by host, where an IOC has several.
          {
            record: 'instance_class:epics_ioc_cpu_seconds:rate5m',
            expr: 'sum by (job, instance, thread_class) (rate(epics_ioc_cpu_seconds_total[5m]))',
          },
          {
            record: 'instance_period:epics_ioc_scan_load:max5m',
            expr: 'max by (job, instance, period) (ioc_period:epics_ioc_scan_load:mean5m)',
          },
          {
            record: 'instance_period:epics_ioc_scan_overruns:rate5m',
            expr: 'sum by (job, instance, period) (rate(epics_ioc_scan_overruns_total[5m]))',
          },
        ] + [
          {
            record: 'instance:%s:sum' % metric,
            expr: 'sum by (job, instance) (%s)' % metric,
          }
          for metric in [
            'epics_ioc_threads',
            'epics_ioc_open_fds',
            'epics_ioc_resident_memory_bytes',
            'epics_ioc_records_in_flight',
            'epics_ioc_records_stuck',
            'epics_ioc_records_never_processed',
            'epics_circuits',
            'epics_channels',
            'epics_monitors',
          ]
        ] + [
          {
            record: 'instance_severity:epics_ioc_records:sum',
            expr: 'sum by (job, instance, severity) (epics_ioc_records_by_severity{severity!="no_alarm"})',
          },
          // For the marks of a day: there are series only where there were restarts.
          {
            record: 'ioc:epics_ioc_restarts:increase2m',
            expr: 'increase(epics_ioc_restarts_total[2m]) > 0',
          },
          // 0: no alert fires for the IOC, 1: info, 2: warning, 3: critical, 4: its exporter does not answer, 5: it does not
          // run, and is missed. Without the alerts about who writes to it: those say nothing of its health.
          {
            record: 'ioc:epics_ioc:state',
            expr: |||
              max by (job, instance, ioc) (
                3 * ALERTS{alertstate="firing", severity="critical", ioc!="", %(others)s}
                  or 2 * ALERTS{alertstate="firing", severity="warning", ioc!="", %(others)s}
                  or ALERTS{alertstate="firing", severity="info", ioc!="", %(others)s}
                  or 0 * (epics_ioc_up == 1)
                  or 5 + (epics_ioc_up == 0 unless on (job, instance, ioc) %(not_missed)s)
                  or (5 * epics_ioc_expected unless on (job, instance, ioc) epics_ioc_up)
                  or (4 + 0 * last_over_time(epics_ioc_up[1d:5m]) and on (job, instance) up == 0)
              )
            ||| % { not_missed: std.strReplace($.notMissed, '\n', '\n    '), others: 'alertname!~"Epics(Unexpected|Forbidden)Put|EpicsPuts(Fail|Refused)|Epics(Client|Pv)PutStorm"' },
          },
          // Orders IOCs for the page that shows only some: by their state, then by CPU time.
          {
            record: 'ioc:epics_ioc:attention',
            expr: |||
              ioc:epics_ioc:state
                + (clamp_max(ioc:epics_ioc_cpu_seconds:rate5m, 900) / 1000 or 0 * ioc:epics_ioc:state)
            |||,
          },
        ],
      },
      // Last time at which an IOC was up that had been up for ten minutes, kept for a day; without IOCs whose name may
      // belong to another one tomorrow. 0 forgets one that was stopped. Each sample is made from the one before, also over outages of Prometheus.
      {
        name: 'epics_iocs_seen',
        interval: '%ds' % $._config.usualIntervalSeconds,
        rules: [
          {
            record: 'ioc:epics_ioc_up_timestamp_seconds:last',
            expr: |||
              timestamp(epics_ioc_up == 1 and (epics_ioc_up offset 10m == 1) unless on (job, instance, ioc) epics_ioc_name_contested)
                or (epics_ioc_up == 0 and (epics_ioc_up offset 10m == 0) and on (job, instance, ioc) %(stopped)s)
                or (last_over_time(ioc:epics_ioc_up_timestamp_seconds:last[%(keepGoneHours)dh]) > time() - %(keepGoneHours)d * 3600)
            ||| % ($._config { stopped: $.stopped }),
          },
        ],
      },
      // For availability and restarts of a month, in steps of an hour: of single scrapes that would be millions of samples.
      {
        name: 'epics_iocs_hours',
        interval: '%ds' % $._config.usualIntervalSeconds,
        rules: [
          {
            record: 'ioc:epics_ioc_up:avg1h',
            expr: 'avg_over_time(epics_ioc_up[1h])',
          },
          {
            record: 'ioc:epics_ioc_restarts:increase1h',
            expr: 'increase(epics_ioc_restarts_total[1h])',
          },
        ],
      },
      // Apart from the others: with a thousand IOCs they take longer than all of those. So the second of them, for the heat
      // map, comes half as often: it looks at the buckets of all records, and the map itself would take seconds over those.
      {
        name: 'epics_records_rates',
        interval: '%ds' % $._config.ratesIntervalSeconds,
        rules: [
          {
            record: 'ioc:epics_record_process_self_seconds:rate5m',
            expr: 'sum by (job, instance, ioc) (rate(epics_record_process_self_seconds_total[5m]))',
          },
          {
            record: 'ioc_reason:epics_record_process_skipped:rate5m',
            expr: 'sum by (job, instance, ioc, reason) (rate(epics_record_process_skipped_total[5m]))',
          },
        ],
      },
      {
        name: 'epics_records_durations',
        // But within the five minutes after which Prometheus takes a series for gone.
        interval: '%ds' % std.max($._config.ratesIntervalSeconds, std.min(2 * $._config.ratesIntervalSeconds, 240)),
        rules: [
          {
            record: 'ioc_le:epics_record_process_duration_seconds_bucket:rate5m',
            expr: 'sum by (job, instance, ioc, le) (rate(epics_record_process_duration_seconds_bucket[5m]))',
          },
        ],
      },
    ],
  } },
}
