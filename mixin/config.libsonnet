// Settings of a site. The texts of alerts repeat the thresholds.
{
  _config+:: {
    // The job's name in Prometheus. Only queries of `up` need it: all other metrics are this exporter's alone.
    job: 'ioc_exporter',

    // The page of an alert, for a site that publishes them, as https://wiki.site/epics/%(alert)s. Empty: that of the exporter that
    // the alert is about, which serves those of its version.
    runbookURLPattern: '',
    // An exporter's URL is made of the label `instance`; these are for where that has no scheme, or no port.
    exporterScheme: 'http',
    exporterPort: 10064,

    // How often the rules behind the dashboards are evaluated. The averages of a day count in it.
    ratesIntervalSeconds: 60,
    // Less than the five minutes after which Prometheus takes a series for gone.
    usualIntervalSeconds: 240,

    // Prometheus before 2.42 does not know keep_firing_for, and refuses the whole file: false leaves it out. An alert
    // whose value crosses its threshold often then ends and begins as often.
    keepFiring: true,

    // An IOC that iocs.expected does not name calls nobody, however it ended.
    pageExpectedIocsOnly: false,
    // --ioc.keep-gone of the exporters.
    keepGoneHours: 24,
    // From a host's boot until its IOCs run.
    bootMinutes: 10,
    // Of the job's scrapes.
    scrapeTimeoutSeconds: 10,
    restartsInQuarterHour: 2,
    scanTimeLostShare: 0.05,
    scanStalledSeconds: 30,
    descriptorsShare: 0.9,
    putStormRate: 10,
    putStormFactor: 10,
    putFailures: 5,
    putLatencySeconds: 1,
    putLatencyFactor: 10,
    // A put with callback that has not ended: longer than the longest move of a motor.
    putCallbackMinutes: 15,
    searchStormRate: 20,
    // Requests that wait for an asyn port all the time.
    asynQueued: 10,
    // A state set stands still that had two transitions in such a time before, within a day.
    stateHours: 1,
    autosaveHours: 1,
    kernelMapShare: 0.9,
    // Lost events in ten minutes.
    droppedEvents: 10,
    // Between a host and Prometheus.
    clockSeconds: 30,
    // --overhead.budget of the exporters (25 percent of a core), and a fifth.
    overheadShare: 0.3,
    // The same, of puts alone: it is not for them.
    putsShare: 0.25,
    // Tools that renew certificates do it a month before, or when a third of the time is left.
    certificateDays: 14,

    // Of the dashboards.
    dashboardTags: ['epics'],
    dashboardRefresh: '30s',
    dashboardFrom: 'now-1h',
    // Where tables link from a PV: a page that shows its values, as https://archiver.site/retrieval/ui/viewer/archViewer.html?pv=,
    // and an application of Phoebus, as databrowser. Empty: nowhere.
    archiverURL: '',
    phoebusApplication: '',
    // Grafana cannot hide a row by itself: false leaves out the closed one for the put log of a Loki.
    loki: true,
  },
}
