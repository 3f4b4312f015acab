// Drivers: ports, protocols, state sets, save sets of modules that the presets know.
// Alerts. Each has its page in docs/runbooks/.
local set = 'job, instance, ioc, program, program_instance, state_set';
{
  topics+:: { drivers+: {
    alerts+: [
      {
        name: 'epics_drivers',
        rules: [
          {
            alert: 'EpicsAsynPortDisconnected',
            expr: 'epics_asyn_connected == 0 and on (job, instance, ioc, port) epics_asyn_enabled == 1',
            'for': '5m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'Port {{ $labels.port }} of {{ $labels.ioc }} is not connected',
              description: 'Port {{ $labels.port }} of IOC {{ $labels.ioc }} on {{ $labels.instance }} has not been connected ' +
                           'to its device for 5 minutes.',
            },
          },
          // One request after the other is answered: what waits all the time takes longer than it comes.
          {
            alert: 'EpicsAsynQueueGrows',
            expr: |||
              sum by (job, instance, ioc, port) (min_over_time(epics_asyn_queued_requests[10m])) > %(asynQueued)d
            ||| % $._config,
            'for': '5m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'Requests wait for port {{ $labels.port }} of {{ $labels.ioc }}',
              description: 'At least {{ $value }} requests have been waiting for port {{ $labels.port }} of IOC ' +
                           '{{ $labels.ioc }} on {{ $labels.instance }} for 15 minutes.',
            },
          },
          // One alert an IOC, which names some: a device that is off has hundreds of records.
          {
            alert: 'EpicsStreamExchangesFail',
            expr: |||
              count by (job, instance, ioc) (
                sum by (job, instance, ioc, record) (rate(epics_stream_exchanges_total{result!="success"}[10m]))
                  > on (job, instance, ioc, record) (
                    sum by (job, instance, ioc, record) (rate(epics_stream_exchanges_total{result="success"}[10m]))
                      or 0 * sum by (job, instance, ioc, record) (rate(epics_stream_exchanges_total[10m]))))
            |||,
            'for': '5m',
            keep_firing_for: '5m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'Exchanges of {{ $value }} records of {{ $labels.ioc }} with devices fail',
              description: 'More exchanges fail than succeed of {{ $value }} records of IOC {{ $labels.ioc }} on ' +
                           '{{ $labels.instance }}. Among them: ' +
                           '{{ range printf "topk(5, sum by (record, result) (rate(epics_stream_exchanges_total{job=%q, instance=%q, ioc=%q, result!=\\"success\\"}[10m])) > 0)" $labels.job $labels.instance $labels.ioc | query | sortByLabel "record" }}{{ .Labels.record }} ({{ .Labels.result }}) {{ end }}',
            },
          },
          // Of one that changes its state often: many state sets rest for days.
          {
            alert: 'EpicsStateNeverLeft',
            expr: |||
              time() - epics_seq_state_entered_timestamp_seconds > %(stateHours)g * 3600
                and on (%(set)s) sum by (%(set)s) (increase(epics_seq_transitions_total[1d])) > 48 * %(stateHours)g
            ||| % ($._config { set: set }),
            'for': '5m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'State set {{ $labels.state_set }} of {{ $labels.program }} stands still',
              description: 'State set {{ $labels.state_set }} of program {{ $labels.program }} in IOC {{ $labels.ioc }} on ' +
                           '{{ $labels.instance }} has been in one state for {{ humanizeDuration $value }}, and changed ' +
                           'more often within the last day.',
            },
          },
          // Sets that are saved on change are old by right where nothing changes: their status is good.
          {
            alert: 'EpicsAutosaveOld',
            expr: |||
              time() - epics_autosave_last_save_timestamp_seconds > %(autosaveHours)g * 3600
                and on (job, instance, ioc, file) epics_autosave_status < 2
            ||| % $._config,
            'for': '5m',
            labels: { severity: 'warning' },
            annotations: {
              summary: 'Save set {{ $labels.file }} of {{ $labels.ioc }} is not saved',
              description: 'Save set {{ $labels.file }} of IOC {{ $labels.ioc }} on {{ $labels.instance }} fails to be ' +
                           'written, and is {{ humanizeDuration $value }} old.',
            },
          },
        ],
      },
    ],
  } },
}
