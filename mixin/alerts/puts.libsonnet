// Puts. Each duration is there for both ways to scrape it: as a classic histogram (_bucket, _sum,
// _count) or, after "or", as a native one, whose series has the plain name.
// Alerts. Each has its page in docs/runbooks/.
local shell = import '../shell.libsonnet';

local indented(text) = '  ' + std.strReplace(std.rstripChars(text, '\n'), '\n', '\n  ') + '\n';
// A series of failures begins with the first one, which no increase() shows: that is the part before "or". It counts
// only where the exporter was scraped before, or each failure of old would be new after an outage.
local failed(matcher) = indented(|||
    (epics_put_failures_total{%(matcher)s}
        unless epics_put_failures_total offset 10m
        and on (job, instance) (up offset 10m == 1))
      or increase(epics_put_failures_total{%(matcher)s}[10m])
||| % { matcher: matcher });
local put = {
  series: 'job, instance, ioc, protocol, pv, client, user, client_host, rule, action',
  writer: 'job, instance, ioc, pv, client, user, client_host, action',
  // Labels of a Prometheus that has a twin.
  twins: 'replica, prometheus_replica',
};
local deciding_rule =
  '{{ range printf "last_over_time(ioc_pv_client_user:epics_put_by_policy:new{job=%q, instance=%q, ioc=%q, pv=%q, client=%q, user=%q, client_host=%q, action=%q}[5m])" ' +
  '$labels.job $labels.instance $labels.ioc $labels.pv $labels.client $labels.user $labels.client_host $labels.action ' +
  '| query | sortByLabel "rule" }} Rule: {{ .Labels.rule }}.{{ end }}';
// The command for the IOC's host. Names of PVs over a limit are in the put log only.
local on_that_host =
  'On that host: ioc_exporter {{ if eq $labels.pv "(other)" }}puts --unexpected --since=1h{{ else }}who-wrote ' +
  shell.quoted('pv') + '{{ end }}';

{
  topics+:: { puts+: {
    alerts+: [
      // Puts that the policy does not allow. Each writer (job, instance, ioc, pv, client, user, client_host) is told once
      // per run of puts; a run ends after 10 quiet minutes. What counts is that the time of the last put changes: how
      // late that is seen, and by which clock it is, makes no difference.
      {
        name: 'epics_puts_by_policy',
        rules: [
          // The last put's time, once: when it is not the one that is known. A quarter of an hour back, for a series that
          // leaves before the rules come to it.
          {
            record: 'ioc_pv_client_user:epics_put_by_policy:new',
            expr: |||
              max without (%(twins)s) (last_over_time(epics_last_unexpected_put_timestamp_seconds[15m]))
                unless on (%(series)s) (
                  max by (%(series)s) (last_over_time(epics_last_unexpected_put_timestamp_seconds[15m]))
                    == max by (%(series)s) (last_over_time(ioc_pv_client_user:epics_put_by_policy:known[8d]))
                )
            ||| % put,
          },
          // Recorded when it is new, for ten minutes after it is seen here, and every six hours: a week's memory in few
          // samples. Series of a twin Prometheus, which may be read as our own, count as known, too.
          {
            record: 'ioc_pv_client_user:epics_put_by_policy:known',
            expr: |||
              ioc_pv_client_user:epics_put_by_policy:new
                or max without (%(twins)s) (last_over_time(epics_last_unexpected_put_timestamp_seconds[15m]))
                  and on () (hour() %% 6 == 0 and minute() < 5)
                or max without (%(twins)s) (epics_last_unexpected_put_timestamp_seconds)
                  unless on (%(series)s) (
                    max by (%(series)s) (epics_last_unexpected_put_timestamp_seconds)
                      == max by (%(series)s) (epics_last_unexpected_put_timestamp_seconds offset 10m)
                  )
            ||| % put,
          },
          // A run, from its first put until 5 minutes after the last. The other 5 quiet minutes are for Alertmanager, which
          // has to see the end of one run before the next begins. What is not told now, nor was at the evaluation before,
          // stays so until the run is over: after an outage of ours Alertmanager has forgotten it, and would send it again.
          {
            record: 'ioc_pv_client_user:epics_put_by_policy:told',
            expr: |||
              max without (%(twins)s, protocol, rule) (last_over_time(ioc_pv_client_user:epics_put_by_policy:new[5m]))
                unless on (%(writer)s) (
                  last_over_time(ioc_pv_client_user:epics_put_by_policy:new[10m] offset 1s)
                    unless on (%(writer)s) (
                      last_over_time(ioc_pv_client_user:epics_put_by_policy:told[3m] offset 1s)
                        and on (%(writer)s) (ioc_pv_client_user:epics_put_by_policy:told offset 1s)
                    )
                )
            ||| % put,
          },
          {
            alert: 'EpicsUnexpectedPut',
            expr: 'ioc_pv_client_user:epics_put_by_policy:told{action="unexpected"}',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $labels.user }} wrote to {{ $labels.pv }}, which the policy does not expect',
              description: '{{ $labels.user }}@{{ $labels.client_host }} ({{ $labels.client }}) wrote to {{ $labels.pv }} of ' +
                           'IOC {{ $labels.ioc }} on {{ $labels.instance }}, last at {{ $value | humanizeTimestamp }}.' +
                           deciding_rule,
              command: on_that_host,
            },
          },
          {
            alert: 'EpicsUnjudgedPut',
            expr: 'count by (job, instance, ioc) (ioc_pv_client_user:epics_put_by_policy:told{action="unjudged"})',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'Puts to {{ $labels.ioc }} are not judged: the PV is not known',
              description: '{{ $value }} clients wrote to channels of IOC {{ $labels.ioc }} on {{ $labels.instance }} whose ' +
                           'PV name the exporter does not know: the policy may forbid these puts.',
            },
          },
          {
            alert: 'EpicsForbiddenPut',
            expr: 'ioc_pv_client_user:epics_put_by_policy:told{action="forbidden"}',
            labels: { severity: 'critical' },
            annotations: {
              summary: '{{ $labels.user }} wrote to {{ $labels.pv }}, which the policy forbids',
              description: '{{ $labels.user }}@{{ $labels.client_host }} ({{ $labels.client }}) wrote to {{ $labels.pv }} of ' +
                           'IOC {{ $labels.ioc }} on {{ $labels.instance }}, last at {{ $value | humanizeTimestamp }}.' +
                           deciding_rule + ' The exporter only watches: the IOC has carried the puts out, unless it ' +
                           'refused them itself.',
              until_morning: 'What was written stays until somebody writes again. If the writer goes on, that is reported ' +
                             'after 10 quiet minutes.',
              command: on_that_host,
            },
          },
        ],
      },
      {
        name: 'epics_puts',
        rules: [
          {
            alert: 'EpicsPutToOthersChannel',
            expr: 'increase(epics_ca_puts_to_others_channels_total[10m]) > 0',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'A client of {{ $labels.ioc }} writes through the channel of another one',
              description: 'IOC {{ $labels.ioc }} on {{ $labels.instance }} got about {{ printf "%.0f" $value }} puts in 10 ' +
                           'minutes to channels that another client has opened, and did them with that client\'s rights.',
            },
          },
          // Far over the average of the day before, of IOCs that have been watched for that long. Who writes around the
          // limit is one storm.
          {
            alert: 'EpicsClientPutStorm',
            expr: |||
              ioc_client_user:epics_puts:rate5m > %(putStormRate)g
                unless ioc_client_user:epics_puts:rate5m <= %(putStormFactor)g * ioc_client_user:epics_puts:avg1d
                and on (job, instance, ioc) (epics_ioc_up offset 1d == 1)
            ||| % $._config,
            'for': '5m',
            keep_firing_for: '10m',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $labels.user }}@{{ $labels.client_host }} writes far more than usual to {{ $labels.ioc }}',
              description: '{{ $labels.user }}@{{ $labels.client_host }} ({{ $labels.client }}) writes ' +
                           '{{ printf "%.0f" $value }} times a second to IOC {{ $labels.ioc }} on {{ $labels.instance }}: ' +
                           'over %(putStormFactor)g times its average of the day before.' % $._config,
            },
          },
          {
            alert: 'EpicsPvPutStorm',
            expr: |||
              ioc_pv:epics_puts:rate5m > %(putStormRate)g
                unless ioc_pv:epics_puts:rate5m <= %(putStormFactor)g * ioc_pv:epics_puts:avg1d
                and on (job, instance, ioc) (epics_ioc_up offset 1d == 1)
            ||| % $._config,
            'for': '5m',
            keep_firing_for: '10m',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $labels.pv }} is written to far more often than usual',
              description: '{{ $labels.pv }} of IOC {{ $labels.ioc }} on {{ $labels.instance }} gets ' +
                           '{{ printf "%.0f" $value }} puts a second from all clients: ' +
                           'over %(putStormFactor)g times its average of the day before.' % $._config,
            },
          },
          {
            alert: 'EpicsPutsFail',
            expr: 'sum by (job, instance, ioc, pv, client, user, client_host, reason) (\n' +
                  failed('reason!="no_write_access"') + ') >= %(putFailures)g\n' % $._config,
            'for': '5m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'Puts to {{ $labels.pv }} fail: {{ $labels.reason }}',
              description: 'IOC {{ $labels.ioc }} on {{ $labels.instance }} answered about {{ printf "%.0f" $value }} puts ' +
                           'of {{ $labels.user }}@{{ $labels.client_host }} ({{ $labels.client }}) to {{ $labels.pv }} with ' +
                           '{{ $labels.reason }} in 10 minutes.',
            },
          },
          {
            alert: 'EpicsPutsRefused',
            expr: 'sum by (job, instance, ioc, pv, client, user, client_host) (\n' +
                  failed('reason="no_write_access"') + ') >= 1\n',
            'for': '1m',
            labels: { severity: 'info' },
            annotations: {
              summary: '{{ $labels.user }}@{{ $labels.client_host }} has no right to write to {{ $labels.pv }}, and tries',
              description: 'IOC {{ $labels.ioc }} on {{ $labels.instance }} refused about {{ printf "%.0f" $value }} puts of ' +
                           '{{ $labels.user }}@{{ $labels.client_host }} ({{ $labels.client }}) to {{ $labels.pv }} in 10 ' +
                           'minutes, for want of write access.',
            },
          },
          {
            alert: 'EpicsPutLatencyHigh',
            expr: |||
              ioc_pv:epics_put_duration_seconds:mean5m > %(putLatencySeconds)g
                and ioc_pv:epics_put_duration_seconds:mean5m > %(putLatencyFactor)g * ioc_pv:epics_put_duration_seconds:avg1d
            ||| % $._config,
            'for': '5m',
            keep_firing_for: '10m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'Puts to {{ $labels.pv }} take {{ humanizeDuration $value }}',
              description: 'Put-callbacks to {{ $labels.pv }} of IOC {{ $labels.ioc }} on {{ $labels.instance }} take ' +
                           '{{ humanizeDuration $value }} on average: over %(putLatencyFactor)g times as long as in the day before.' % $._config,
            },
          },
          {
            alert: 'EpicsPutCallbackHangs',
            expr: 'epics_ioc_put_callback_oldest_seconds > %(putCallbackMinutes)g * 60' % $._config,
            labels: { severity: 'warning' },
            annotations: {
              summary: 'A put with callback to {{ $labels.ioc }} does not end',
              description: 'A put with callback to IOC {{ $labels.ioc }} on {{ $labels.instance }} has waited for its end ' +
                           'for {{ humanizeDuration $value }}; ' +
                           '{{ range printf "epics_ioc_put_callbacks_pending{job=%q, instance=%q, ioc=%q}" $labels.job $labels.instance $labels.ioc | query }}{{ .Value }}{{ end }} wait in all.',
              command: 'On that host: ioc_exporter puts --pending',
            },
          },
          {
            alert: 'EpicsClientsDoNotKeepUp',
            expr: 'min_over_time(epics_ca_flow_controlled_circuits[10m]) > 0',
            'for': '5m',
            labels: { severity: 'info' },
            annotations: {
              summary: '{{ $value }} clients of {{ $labels.ioc }} do not keep up with its updates',
              description: 'For over 10 minutes {{ $value }} clients of IOC {{ $labels.ioc }} on {{ $labels.instance }} have ' +
                           'had their monitors\' updates turned off, since they read them too slowly: what they show is old.',
            },
          },
          {
            alert: 'EpicsSearchStorm',
            // Each host on the network hears the same searches: one alert for all of them.
            expr: 'max by (job, protocol, client) (rate(epics_search_requests_total[10m])) > %(searchStormRate)g' % $._config,
            'for': '15m',
            keep_firing_for: '10m',
            labels: { severity: 'warning' },
            annotations: {
              summary: '{{ $labels.client }} searches for names that nobody has',
              description: '{{ $labels.client }} sends {{ printf "%.0f" $value }} name searches a second. A name that is ' +
                           'answered is not searched again, so most of these are not.',
            },
          },
        ],
      },
    ],
  } },
}
