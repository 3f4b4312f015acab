// IOCs: what dashboards and alerts share, and the alerts.
// Alerts. Each has its page in docs/runbooks/.

local shell = import '../shell.libsonnet';

// 0: it has ended. 1: it is expected, and was not seen. Within `span`, so that single scrapes may fail.
local down(span) = |||
  (last_over_time(epics_ioc_up[%(span)s]) == 0
      or last_over_time(epics_ioc_expected[%(span)s]) unless on (job, instance, ioc) last_over_time(epics_ioc_up[%(span)s]))
||| % { span: span };
// Hosts whose exporter was scraped lately.
local answers = '(last_over_time(ioc_exporter_time_seconds[90s]) or last_over_time(epics_ioc_up[90s]) or last_over_time(epics_ioc_expected[90s]))\n';

{
  // IOCs start after the exporter, and need minutes. Both times are by the host's clock.
  local booting = |||
    (last_over_time(ioc_exporter_time_seconds[5m]) - last_over_time(epics_host_boot_time_seconds[5m]) < %(bootMinutes)d * 60)
  ||| % $._config,

  // Nobody is called for an IOC that is not expected and that somebody stopped; or for none that is not expected. Where such
  // one runs again, it is still among these. One that did not run for long leaves the page with how it ended.
  notMissed:: |||
    ((%s)
      unless on (job, instance, ioc) last_over_time(epics_ioc_expected[5m]))
  |||[:-1] % (if $._config.pageExpectedIocsOnly then 'last_over_time(epics_ioc_up[5m])'
              else '%(stopped)s or last_over_time(%(stopped)s[5m]) unless on (job, instance, ioc) epics_ioc_last_exit_info' % { stopped: $.stopped }),

  // Ended by exit 0 or SIGTERM.
  stopped:: 'epics_ioc_last_exit_info{reason=~"exit|signal", status=~"0?", signal=~"(SIGTERM)?"}',

  topics+:: { iocs+: {
    alerts+: [
      {
        name: 'epics_iocs',
        rules: [
          // One that was never seen has no series of its own. Two minutes: a reboot ends IOCs and exporter, of which nothing
          // is known a minute and a half later. While the exporter does not answer, nothing ends.
          {
            alert: 'EpicsIocDown',
            expr: down('5m') +
                  '  and on (job, instance) ' + answers +
                  '  unless on (job, instance) ' + booting +
                  '  unless on (job, instance, ioc) ' + $.notMissed + '\n' +
                  'or\n' + down('1h') +
                  '  and on (job, instance, ioc) ALERTS{alertname="EpicsIocDown", alertstate="firing"}\n' +
                  '  unless on (job, instance) ' + answers,
            'for': '2m',
            labels: { severity: 'critical' },
            annotations: {
              summary: 'IOC {{ $labels.ioc }} does not run',
              description: 'IOC {{ $labels.ioc }} on {{ $labels.instance }} {{ if eq $value 0.0 }}has ended. ' +
                           '{{- range query (printf "epics_ioc_last_exit_info{job=%q, instance=%q, ioc=%q}" $labels.job $labels.instance $labels.ioc) }} ' +
                           'It ended by {{ .Labels.reason }} {{ .Labels.signal }}{{ .Labels.status }}.{{ end }} ' +
                           '{{- with query (printf "epics_ioc_expected{job=%q, instance=%q, ioc=%q}" $labels.job $labels.instance $labels.ioc) }} ' +
                           'If it is not to run any more, take it out of iocs.expected.{{ else }} ' +
                           'It is not expected there: this alert ends %d hours after it did.{{ end }}' % $._config.keepGoneHours +
                           '{{ else }}is expected there, and was not seen. If it is not to run there, take it out of ' +
                           'iocs.expected.{{ end }}',
              until_morning: 'Its PVs stay disconnected, and what needs them stands still, until somebody starts it.',
              command: 'On that host, for what runs there: ioc_exporter iocs learn',
            },
          },
          // For an hour: of somebody who stopped it, or of what the site does not list.
          {
            alert: 'EpicsIocStopped',
            expr: |||
              last_over_time(epics_ioc_up[5m]) == 0
                and on (job, instance, ioc) max_over_time(epics_ioc_up[1h]) == 1
                and on (job, instance, ioc) %s
            ||| % std.strReplace($.notMissed, '\n', '\n  '),
            'for': '2m',
            labels: { severity: 'info' },
            annotations: {
              summary: 'IOC {{ $labels.ioc }} has ended',
              description: 'IOC {{ $labels.ioc }} on {{ $labels.instance }} has ended' +
                           '{{ range query (printf "epics_ioc_last_exit_info{job=%q, instance=%q, ioc=%q}" $labels.job $labels.instance $labels.ioc) }} ' +
                           'by {{ .Labels.reason }} {{ .Labels.signal }}{{ .Labels.status }}{{ end }}. It is not expected ' +
                           'there: this alert ends within an hour.',
            },
          },
          // An exporter that starts anew knows nothing of IOCs that ended before: Prometheus does. Seen for the last time
          // before the exporter was started, by Prometheus' clock; a minute more, since the kernel rounds.
          {
            alert: 'EpicsIocAbsent',
            expr: |||
              (last_over_time(ioc:epics_ioc_up_timestamp_seconds:last[10m]) > 0)
                  < on (job, instance) group_left () max by (job, instance) (
                    last_over_time(process_start_time_seconds[1h])
                      - last_over_time(instance:ioc_exporter_clock_ahead_seconds:last[1h]) + 60)
                unless on (job, instance, ioc) last_over_time(epics_ioc_up[5m])
                unless on (job, instance, ioc) last_over_time(epics_ioc_expected[5m])
                unless on (job, instance) %s
            ||| % std.rstripChars(booting, '\n'),
            'for': '5m',
            labels: { severity: if $._config.pageExpectedIocsOnly then 'info' else 'critical' },
            annotations: {
              summary: 'IOC {{ $labels.ioc }} is absent',
              description: 'IOC {{ $labels.ioc }} on {{ $labels.instance }} was up within the last %(keepGoneHours)d hours, and is not ' % $._config +
                           'there since the exporter was started anew. If it is not to run any more, silence this alert: it ' +
                           'ends by itself.',
              until_morning: 'Its PVs stay disconnected, and what needs them stands still, until somebody starts it.',
              command: 'On that host, for what runs there: ioc_exporter iocs learn',
            },
          },
          {
            alert: 'EpicsIocRestartLoop',
            expr: 'increase(epics_ioc_restarts_total[15m]) > %(restartsInQuarterHour)g' % $._config,
            'for': '1m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'IOC {{ $labels.ioc }} restarts again and again',
              description: 'IOC {{ $labels.ioc }} on {{ $labels.instance }} was restarted about {{ printf "%.0f" $value }} ' +
                           'times in 15 minutes.',
            },
          },
          // A quarter of an hour may be somebody who sets it up; one that is not expected calls nobody at all.
          {
            alert: 'EpicsIocKeepsRestarting',
            expr: |||
              increase(epics_ioc_restarts_total[15m]) > %(restartsInQuarterHour)g
                and on (job, instance, ioc) last_over_time(epics_ioc_expected[5m])
            ||| % $._config,
            'for': '45m',
            labels: { severity: 'critical' },
            annotations: {
              summary: 'IOC {{ $labels.ioc }} has been restarting for an hour',
              description: 'IOC {{ $labels.ioc }} on {{ $labels.instance }} has been restarted more than ' +
                           '%(restartsInQuarterHour)g times in each quarter of the last hour.' % $._config,
              until_morning: 'Its PVs come and go, and its outputs may be initialized again with each start.',
              command: 'On that host: systemctl list-units --all \'*ioc*\'',
            },
          },
          // For its whole life: anybody can give a process any name.
          {
            alert: 'EpicsIocNameContested',
            expr: 'epics_ioc_name_contested == 1',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'An IOC of {{ $labels.user }} calls itself {{ $labels.claimed_name }}',
              description: 'IOC {{ $labels.ioc }} of user {{ $labels.user }} on {{ $labels.instance }} calls itself ' +
                           '{{ $labels.claimed_name }}, as an IOC of user {{ $labels.claimed_from }} does, or did before.',
            },
          },
          {
            alert: 'EpicsScanOverrun',
            // A pass that takes longer than the period costs the list one period at least. Where the period is not
            // known (Base 3.14, stripped files), as if it were a second.
            expr: |||
              rate(epics_ioc_scan_overruns_total[10m])
                  * on (job, instance, ioc, period) group_left () max by (job, instance, ioc, period) (epics_ioc_scan_period_seconds)
                > %(scanTimeLostShare)g
                or (rate(epics_ioc_scan_overruns_total[10m]) > %(scanTimeLostShare)g
                  unless on (job, instance, ioc, period) epics_ioc_scan_period_seconds)
            ||| % $._config,
            'for': '5m',
            keep_firing_for: '10m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'Scan {{ $labels.period }} s of {{ $labels.ioc }} takes longer than its period',
              description: 'The periodic scan of {{ $labels.period }} s of IOC {{ $labels.ioc }} on {{ $labels.instance }} ' +
                           'misses {{ humanizePercentage $value }} of its passes or more, since others take longer than the ' +
                           'period.',
            },
          },
          // Only while passes are seen: where probes are off, silence says nothing.
          {
            alert: 'EpicsScanStalled',
            expr: |||
              epics_ioc_scan_age_seconds > %(scanStalledSeconds)g + 5 * epics_ioc_scan_period_seconds
                and on (job, instance, ioc) epics_ioc_up == 1
                and on (job, instance, ioc) epics_ioc_records_watched == 1
            ||| % $._config,
            'for': '1m',
            labels: { severity: 'critical' },
            annotations: {
              summary: 'Scan {{ $labels.period }} s of {{ $labels.ioc }} stands still',
              description: 'The periodic scan of {{ $labels.period }} s of IOC {{ $labels.ioc }} on {{ $labels.instance }} ' +
                           'has not finished a pass for {{ humanizeDuration $value }}.',
              until_morning: 'Values of this list stay as they are, and what depends on them is not controlled. It rarely goes on by itself.',
              command: 'On that host: ioc_exporter status',
            },
          },
          {
            alert: 'EpicsThreadSuspended',
            expr: 'epics_ioc_threads_suspended > 0',
            'for': '1m',
            labels: { severity: 'critical' },
            annotations: {
              summary: '{{ $value }} threads of {{ $labels.ioc }} are suspended',
              description: 'EPICS has suspended {{ $value }} threads of IOC {{ $labels.ioc }} on {{ $labels.instance }}: ' +
                           'what they did stands still. The exporter\'s page names them.',
              until_morning: 'The work of these threads is not done until the IOC is restarted.',
              command: 'On that host: curl -s http://localhost:10064/ | grep -i suspended',
            },
          },
          // A thread of an IOC that never rests: a loop without an end, or too much to do for its thread.
          {
            alert: 'EpicsThreadSpins',
            expr: 'min_over_time(epics_ioc_threads_spinning[15m]) > 0',
            'for': '5m',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $value }} threads of {{ $labels.ioc }} never rest',
              description: '{{ $value }} threads of IOC {{ $labels.ioc }} on {{ $labels.instance }} have run, or waited for ' +
                           'a CPU, for over 15 minutes without a rest. The exporter\'s page names them.',
            },
          },
          // Without descriptors an IOC takes no client any more, and opens no device again.
          {
            alert: 'EpicsDescriptorsNearlyUsedUp',
            expr: 'epics_ioc_open_fds / epics_ioc_max_fds > %(descriptorsShare)g' % $._config,
            'for': '5m',
            labels: { severity: 'critical' },
            annotations: {
              summary: '{{ $labels.ioc }} has opened {{ humanizePercentage $value }} of the files that it may',
              description: 'IOC {{ $labels.ioc }} on {{ $labels.instance }} has {{ humanizePercentage $value }} of its file ' +
                           'descriptors open. At the limit it takes no new client, and cannot connect to its devices again.',
              until_morning: 'It runs on. At the limit clients that connect anew are refused, and devices that are lost do not come back.',
              command: 'On that host: ls -l /proc/' +
                       '{{ range printf "epics_ioc_info{job=%q, instance=%q, ioc=%q}" $labels.job $labels.instance $labels.ioc | query }}' +
                       '{{ .Labels.pid }}{{ end }}/fd',
            },
          },
          {
            alert: 'EpicsRecordsStuck',
            expr: 'epics_ioc_records_stuck > 0',
            'for': '2m',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $value }} records of {{ $labels.ioc }} are stuck',
              description: '{{ $value }} records of IOC {{ $labels.ioc }} on {{ $labels.instance }} are active (PACT) for ' +
                           'longer than --records.stuck-after. The exporter\'s page names them.',
            },
          },
          {
            alert: 'EpicsLinksDown',
            // More than at any time of the last day: links to PVs that nobody serves any more are not news.
            expr: 'sum without (state) (epics_ioc_ca_links{state="disconnected"} - min_over_time(epics_ioc_ca_links{state="disconnected"}[1d])) > 0',
            'for': '5m',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $value }} links of {{ $labels.ioc }} to other IOCs are down',
              description: '{{ $value }} Channel Access links of records of IOC {{ $labels.ioc }} on {{ $labels.instance }} are ' +
                           'not connected that were within the last day. The exporter\'s page names them.',
              command: 'On that host: ioc_exporter links ' + shell.quoted('ioc'),
            },
          },
          {
            alert: 'EpicsQueueOverflow',
            expr: 'increase(epics_ioc_queue_overflows_total[10m]) > 0',
            'for': '1m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'Queue {{ $labels.queue }} of {{ $labels.ioc }} overflows',
              description: 'The queue {{ $labels.queue }} of IOC {{ $labels.ioc }} on {{ $labels.instance }} was full ' +
                           '{{ printf "%.0f" $value }} times in 10 minutes: requests to process records were lost.',
            },
          },
        ],
      },
    ],
  } },
}
