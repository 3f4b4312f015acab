"""What the dashboards are made of: a board, its panels, and how they look.

The classes say what a panel shows; build() turns each into what the Grafana Foundation SDK, which knows the
schema, writes as JSON.
"""
from dataclasses import dataclass, field

from grafana_foundation_sdk.builders import (common, dashboard, heatmap, logs, loki, prometheus, stat, statetimeline, table,
                                             timeseries)
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import heatmap as heatmap_models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

# Paul Tol's "vibrant" scheme, yellow, green and purple of his "bright" one, and pink of his "light" one: colours that people
# with any kind of colour blindness can tell apart, on white and on black. Whatever a colour means is written beside it, too.
TOL = {"blue": "#0077BB", "orange": "#EE7733", "teal": "#009988", "magenta": "#EE3377", "cyan": "#33BBEE",
       "red": "#CC3311", "yellow": "#CCBB44", "grey": "#888888", "green": "#228833", "purple": "#AA3377", "pink": "#FFAABB"}
RANKS = ["blue", "orange", "teal", "magenta", "cyan", "red"]
# Units that say of what.
PUTS, PROCESSED, WRITES, CALLS = "suffix: puts/s", "suffix: records/s", "suffix: writes/s", "suffix: calls/s"
COUNT = "locale"  # a whole number, with its thousands apart
CHANGES, PASSES, EVENTS = "suffix: changes/s", "suffix: passes/s", "suffix: events/s"
# Points of a line, at most: at 24 hours one each five minutes, as long as the rates are over. Over a thousand IOCs each
# point costs; the ranked ones are found among all PVs or clients.
POINTS, RANKED_POINTS = 300, 150
REFS = "ABCDEFGH"  # how Grafana names the queries of a panel
# Behind text, which Grafana writes in white on what is darker than 180 of 255, and in black on what is brighter.
# From pale yellow by orange to red it grows worse; what is grey is not known.
GOOD, INFO, WARNING, CRITICAL, UNSEEN, DOWN = TOL["blue"], "#BBCCEE", "#EEE6AA", "#FFB340", "#666666", TOL["red"]
CALM = "transparent"  # nothing to say: no colour

STATES = {"0": ("ok", GOOD), "1": ("info", INFO), "2": ("warning", WARNING), "3": ("critical", CRITICAL),
          "4": ("not seen", UNSEEN), "5": ("down", DOWN)}
ALERT_LEVELS = {"1": ("info", INFO), "2": ("warning", WARNING), "3": ("critical", CRITICAL)}
WHEN = "dateTimeAsIsoNoDateIfToday"
PERIODS = {"0.1 s": "blue", "0.2 s": "orange", "0.5 s": "teal", "1 s": "magenta", "2 s": "yellow", "5 s": "cyan",
           "10 s": "grey"}
COLLECTORS = {"discovery": "blue", "records": "orange", "puts": "teal", "iocs": "cyan",
              "policy": "yellow", "putlog": "grey", "traces": "green", "functions": "red"}



def firing_alerts(title: str, description: str, selector: str, by: str, columns: list, of_hosts: bool = False, **options):
    """A table of the alerts that fire, a row for each of `by`: the critical ones first, then the latest; 50, and how many
    there are where that is not all. `of_hosts`: with the host, in place of how many alerts a row is."""
    def fires(severity: str) -> str:
        return f'ALERTS{{alertstate="firing", severity="{severity}", {selector}}}'

    labels = f"alertname, {by}"
    worst = f"max by ({labels}) (3 * {fires('critical')} or 2 * {fires('warning')} or {fires('info')})"
    shown = f"topk(50, {worst})"
    count = f'count by ({labels}) (ALERTS{{alertstate="firing", {selector}}})'
    more = (f'label_replace(label_replace(count_values("rows", sum({count}) and count({worst}) > 50), "alertname", '
            f'"$1 firing, 50 rows shown", "rows", "(.*)"), "rows", "", "", "")')
    since = f"max by ({labels}) (ALERTS_FOR_STATE{{{selector}}})"
    queries = [Query(f"{shown} or {more}", instant=True), Query(f"1000 * {since} and on ({labels}) {shown}", instant=True)]
    if of_hosts:
        queries[0].expression = named_host(queries[0].expression)
        last = Column("host", "Host", width=105)
    else:
        queries.append(Query(f"{count} and on ({labels}) {shown}", instant=True))
        last = Column("Value #C", "Alerts", width=70, unit=COUNT, decimals=0)
    return Table(title, description, queries, sort=["-Severity", "-Since"], empty_when_healthy=True,
                 columns=[Column("Value #A", "Severity", width=90, mapping=ALERT_LEVELS), Column("alertname", "Alert", runbook=True),
                          *columns, last, Column("Value #B", "Since", width=150, unit=WHEN)], **options)


ADDRESS = "[0-9.]+|[0-9a-f]*:[0-9a-f:.]*"


def who(expression: str) -> str:
    """With the label "who": user@host (address). A host that is called by an address is named once, a client without a user
    by its address."""
    named = f'label_join({expression}, "who", "\\t", "user", "client_host", "client")'
    for text, pattern in (("all others", r"[(]other[)]\t.*"), ("$1@$2", rf"(.*)\t(?:{ADDRESS})\t(.*)"),
                          ("not known", r"\t\t"), ("$1", r"\t\t(.+)"), ("$1@$2 ($3)", r"(.*)\t(.*)\t(.*)")):
        named = f'label_replace({named}, "who", "{text}", "who", "{pattern}")'
    return named


def named_host(expression: str) -> str:
    """With the label "host": the exporter's, without scheme and port."""
    return f'label_replace({expression}, "host", "$1", "instance", "(?:https?://)?(.+?)(?::[0-9]+)?/?")'


def exporter_url(expression: str) -> str:
    """With the label "url": where the exporter of the label "instance" answers, which may lack the scheme or the port."""
    for text, source, pattern in (("http://$1", "instance", "([^/]+)"), ("$1", "instance", "(https?://.+?)/?"),
                                  ("$1:10064", "url", "(https?://(?:[^/:]+|[[][^]]+[]]))")):
        expression = f'label_replace({expression}, "url", "{text}", "{source}", "{pattern}")'
    return expression


SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
LOG_SOURCE = models.DataSourceRef(type_val="loki", uid="${logs}")


FIELDS = "%28%5B.%5D.*%29%3F"  # "([.].*)?": a record's fields are PVs, too


def link(title: str, board: str, instance: str = "${instance:queryparam}", **chosen: str) -> dict:
    """To another dashboard, with the same data source, job and time. `chosen`: what it looks at."""
    variables = "".join(f"&var-{name}={value}" for name, value in chosen.items())
    return {"title": title, "url": f"/d/{board}?${{datasource:queryparam}}&${{__url_time_range}}&${{job:queryparam}}&{instance}{variables}"}


# Columns behind a PV, by the variable with the site's setting: of an empty one Prometheus makes no label, and the table no column.
# Phoebus does not decode names; it goes by the first "app=", whatever a PV is called.
OUTSIDE = {"archiver": ("Trend", "plot", 53, "${archiver}${__data.fields.%s:percentencode}&from=${__from:date:iso}&to=${__to:date:iso}"),
           "phoebus": ("Phoebus", "open", 77, "pv://?app=${phoebus}&${__data.fields.%s:raw}")}


@dataclass
class Query:
    expression: str
    legend: str = ""
    instant: bool = False

    def build(self, ref: str, kind: PromQueryFormat) -> prometheus.Dataquery:
        query = prometheus.Dataquery().expr(self.expression).ref_id(ref).format(kind)
        query = query.instant() if self.instant else query.range()
        return query.legend_format(self.legend) if self.legend else query


@dataclass
class Column:
    """A field of a table: its name in the data, and how it is shown."""
    name: str
    title: str
    width: int | None = None
    unit: str | None = None
    decimals: int | None = None
    mapping: dict | None = None
    bar: bool = False  # the value, with a bar beside it
    maximum: float | None = None  # of the bar, where it is not the largest value
    runbook: bool = False  # the cell is an alert's name: links to its page
    stored: bool = False  # links to the puts to the row's PV that its exporter has in memory; of the row as for `page`
    traced: bool = False  # the same of traces with the row's record
    page: bool = False  # links to the exporter's page, of which the row has the label "url"
    hidden: bool = False  # there for links alone
    board: bool = False  # the cell is an IOC's name: links to what there is of it
    outside: tuple[str, str] | None = None  # what the cell says, and where it links
    values: bool = False  # of a PV: columns behind it lead to its values
    to_puts: str | None = None  # "pv", "user" or "client": the cell is one, or there is a column of it; links to its puts

    def properties(self) -> list[models.DynamicConfigValue]:
        value = "${__value.raw:percentencode}"
        # A row without a value has an empty cell, not what an empty table says.
        wanted = {"custom.hidden": self.hidden or None, "custom.width": self.width, "unit": self.unit, "decimals": self.decimals,
                  "noValue": " "}
        if self.mapping:
            wanted |= {"mappings": [mappings(self.mapping)], "custom.cellOptions": {"type": "color-background", "mode": "basic"}}
        if self.bar:
            wanted |= {"min": 0, "max": self.maximum, "custom.cellOptions": {"type": "gauge", "mode": "basic", "valueDisplayMode": "text"}}
        if self.runbook:
            wanted["links"] = [{"title": "What to do", "url": "${exporter}/runbooks/${__value.raw:percentencode}", "targetBlank": True}]
        if self.page:
            wanted["links"] = [{"title": "The exporter's page", "url": "${__data.fields.url}/", "targetBlank": True}]
        if self.outside:
            text, url = self.outside
            shown = models.DashboardRegexMapOptions(".+", models.ValueMappingResult(text=text))
            wanted |= {"mappings": [models.RegexMap(shown)], "links": [{"title": f"{self.title}: {text}", "url": url, "targetBlank": True}]}
        if self.stored:  # its field takes a regular expression
            wanted["links"] = [{"title": "Each put since the time shown begins (put log)", "targetBlank": True,
                                "url": "${__data.fields.url}/puts?since=${__from:date:seconds}&pv=%5CQ${__data.fields.pv:percentencode}%5CE"}]
        if self.traced:
            wanted["links"] = [{"title": "Its traces since the time shown begins (lines of JSON)", "targetBlank": True,
                                "url": "${__data.fields.url}/api/v1/traces?since=${__from:date:seconds}"
                                       "&record=%5CQ${__data.fields.record:percentencode}%5CE"}]
        if self.board:
            wanted["links"] = [link(title, f"ioc-exporter-{board}", ioc=value) for title, board in
                               (("This IOC", "iocs"), ("Its records", "records"), ("Its puts", "puts"))]
        if self.to_puts:
            if self.name == "record":
                value += FIELDS
            elif self.name != self.to_puts:
                value = f"${{__data.fields.{self.to_puts}:percentencode}}"
            title = {"pv": "Its puts, and who wrote last", "user": "Puts of this user", "client": "Puts from this address"}[self.to_puts]
            wanted["links"] = [link(title, "ioc-exporter-puts", **{self.to_puts: value})]
        return [models.DynamicConfigValue(key, value) for key, value in wanted.items() if value is not None]


def mappings(mapping: dict) -> models.ValueMap:
    return models.ValueMap(options={
        value: models.ValueMappingResult(text=text, color=color, index=index)
        for index, (value, (text, color)) in enumerate(mapping.items())})


def fixed(color: str) -> list[models.DynamicConfigValue]:
    return [models.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": color})]


def thresholds(steps) -> dashboard.ThresholdsConfig:
    return dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(
        [models.Threshold(value=value, color=color) for value, color in steps])


@dataclass
class Panel:
    title: str
    description: str
    queries: list[Query]
    unit: str = "short"
    width: int = 12
    height: int = 8
    decimals: int | None = None
    steps: list = field(default_factory=lambda: [(None, GOOD)])
    # In a healthy system there is nothing to show; the panel says so.
    empty_when_healthy: bool = False
    without: str | None = None  # the option that the panel needs, if any
    points: int = POINTS

    def finish(self, panel, kind: PromQueryFormat = PromQueryFormat.TIME_SERIES):
        panel = (panel.title(self.title).description(self.description).datasource(SOURCE).unit(self.unit)
                 .thresholds(thresholds(self.steps)).span(self.width).height(self.height))
        if any(not query.instant for query in self.queries):
            panel = panel.max_data_points(self.points)
        if self.decimals is not None:
            panel = panel.decimals(self.decimals)
        if self.empty_when_healthy:
            panel = panel.no_value("none")
        if self.without:
            panel = panel.no_value(self.without)
        for ref, query in zip(REFS, self.queries):
            panel = panel.with_target(query.build(ref, kind))
        return panel


@dataclass
class Row:
    """`closed`: panels that are there, and ask, only once somebody opens it."""
    title: str
    closed: list = field(default_factory=list)


@dataclass
class Logs:
    """Lines that a Loki has, the latest first."""
    title: str
    description: str
    query: str
    width: int = 24
    height: int = 12

    def build(self):
        query = loki.Dataquery().expr(self.query).ref_id("A").query_type("range").max_lines(500)
        return (logs.Panel().title(self.title).description(self.description).datasource(LOG_SOURCE).span(self.width)
                .height(self.height).show_time(True).enable_log_details(True).wrap_log_message(False)
                .sort_order(shapes.LogsSortOrder.DESCENDING).dedup_strategy(shapes.LogsDedupStrategy.NONE)
                .with_target(query))


@dataclass
class Stat(Panel):
    width: int = 4
    height: int = 4
    steps: list = field(default_factory=lambda: [(None, CALM)])
    size: int = 32  # of the number
    unit: str = COUNT
    decimals: int | None = 0  # the same for each value: digits do not come and go
    links: list = field(default_factory=list)
    colors: list[str] = field(default_factory=list)  # of what each query finds, whatever the value

    def build(self):
        return self.numbers(shapes.BigValueTextMode.VALUE)

    def numbers(self, mode: shapes.BigValueTextMode):
        for query in self.queries:  # one number: once, not at each step of the time shown
            query.instant = True
        panel, text = stat.Panel(), common.VizTextDisplayOptions()
        if self.size:  # else as large as there is room
            text = text.value_size(self.size).title_size(self.size)
        if self.links:
            panel = panel.override_by_regexp(".*", [models.DynamicConfigValue("links", self.links)])
        for ref, color in zip(REFS, self.colors):
            panel = panel.override_by_query(ref, fixed(color))
        return self.finish(
            panel.color_mode(shapes.BigValueColorMode.BACKGROUND_SOLID).text_mode(mode)
            .graph_mode(shapes.BigValueGraphMode.NONE).text(text)
            .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
            .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.THRESHOLDS)))


@dataclass
class InAlarm(Stat):
    """Records in alarm: many have been for years, and nobody is to get used to a colour. `of`: the series that count them."""
    of: str = ""
    description: str = ("Records with severity MINOR, MAJOR or INVALID. In colour: it is another number than at the beginning of the time "
                        "shown.")
    queries: list[Query] = field(default_factory=list)

    def build(self):
        changed = f"sum({self.of}) != sum({self.of} offset $__range)"
        self.queries, self.colors = [Query(f"(sum({self.of}) or vector(0)) unless ({changed})"), Query(changed)], [CALM, WARNING]
        return super().build()


@dataclass
class Lines(Stat):
    """A line for each series: its name, and its time."""
    size: int = 16
    unit: str = WHEN
    width: int = 8
    height: int = 16

    def build(self):
        return self.numbers(shapes.BigValueTextMode.VALUE_AND_NAME).orientation(shapes.VizOrientation.HORIZONTAL)


@dataclass
class TimeSeries(Panel):
    stack: bool = False
    # Name in the legend, or /regular expression/, to name of a colour.
    colors: dict[str, str] = field(default_factory=dict)
    line: tuple[float, str] | None = None  # a bound that is drawn
    logarithmic: bool = False

    def build(self):
        stacking = shapes.StackingMode.NORMAL if self.stack else shapes.StackingMode.NONE
        if self.line:
            self.steps = [(None, GOOD), (self.line[0], TOL[self.line[1]])]
        panel = self.finish(
            # Stacked series of zero height would draw their outline on top of the stack.
            timeseries.Panel().min(0).line_width(0 if self.stack else 2).fill_opacity(60 if self.stack else 0)
            .show_points(shapes.VisibilityMode.AUTO).stacking(common.StackingConfig().mode(stacking))
            .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.PALETTE_CLASSIC))  # for series without a name below
            .legend(common.VizLegendOptions().display_mode(shapes.LegendDisplayMode.LIST)
                    .placement(shapes.LegendPlacement.BOTTOM).show_legend(True))
            .tooltip(common.VizTooltipOptions().mode(shapes.TooltipDisplayMode.MULTI)
                     .sort(shapes.SortOrder.DESCENDING)))
        if self.line:
            panel = panel.thresholds_style(
                common.GraphThresholdsStyleConfig().mode(shapes.GraphThresholdsStyleMode.DASHED))
        if self.logarithmic:
            panel = panel.scale_distribution(
                common.ScaleDistributionConfig().type(shapes.ScaleDistribution.LOG).log(10))
        for name, color in self.colors.items():
            matcher = panel.override_by_regexp if name.startswith("/") else panel.override_by_name
            panel = matcher(name, fixed(TOL[color]))
        return panel


@dataclass
class Ranked(TimeSeries):
    """The six largest series at the end of the time shown: no series comes and goes. `queries` is one expression,
    with @END behind each selector. Each has its rank at the end, for its colour: found once. One query for each rank
    would cost five times as much."""
    points: int = RANKED_POINTS
    colors: dict[str, str] = field(default_factory=lambda: {f"/^{rank}[.] /": color for rank, color in enumerate(RANKS, 1)})

    def build(self):
        expression, = self.queries
        now, at_end = expression.expression.replace("@END", ""), expression.expression.replace("@END", " @ end()")
        within = " or ".join(f'label_replace(topk({rank}, {at_end}), "within", "{rank}", "", "")' for rank in range(1, 7))
        ranks = f'count_values without (within) ("at_end", 7 - count without (within) ({within}))'
        shown = f"{now} * ignoring (at_end) group_left (at_end) {ranks}"
        self.queries = [Query(who(shown) if "{{who}}" in expression.legend else shown, "{{at_end}}. " + expression.legend)]
        return super().build()


@dataclass
class Heatmap(Panel):
    def build(self):
        for query in self.queries:  # the axis: by number, not by the text of a label set
            query.legend = "{{le}}"
        color = (heatmap.HeatmapColorOptions().mode(heatmap_models.HeatmapColorMode.SCHEME).scheme("Viridis")
                 .exponent(0.5).steps(64).reverse(False))
        return self.finish(heatmap.Panel().calculate(False).cell_gap(1).color(color)
                           .y_axis(heatmap.YAxisConfig().unit(self.unit)), PromQueryFormat.HEATMAP)


@dataclass
class StateTimeline(Panel):
    mapping: dict = field(default_factory=dict)

    def build(self):
        return self.finish(
            statetimeline.Panel().mappings([mappings(self.mapping)]).show_value(shapes.VisibilityMode.AUTO)
            .row_height(0.8).fill_opacity(80)
            # Thresholds would win over the mapping: one colour, and no names.
            .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.FIXED).fixed_color("text")))


@dataclass
class Table(Panel):
    columns: list[Column] = field(default_factory=list)
    # Titles of columns, the first first; "-": descending. None: by the value, which is not shown.
    sort: list[str] = field(default_factory=list)

    @property
    def of_values(self) -> list[int]:
        return [at for at, column in enumerate(self.columns) if column.values]

    def build(self):
        for at in self.of_values:
            self.columns[at + 1:at + 1] = [Column(name, title, width=width, outside=(text, url % self.columns[at].name))
                                           for name, (title, text, width, url) in OUTSIDE.items()]
            for query in self.queries:
                for name in OUTSIDE:
                    query.expression = f'label_replace({query.expression}, "{name}", "${name}", "", "")'
        names = [column.name for column in self.columns]
        panel = table.Panel()
        if len(self.queries) > 1:
            panel = panel.with_transformation(models.DataTransformerConfig(id_val="merge", options={}))
        if not self.sort:
            panel = panel.with_transformation(models.DataTransformerConfig(
                id_val="sortBy", options={"fields": {}, "sort": [{"field": "Value", "desc": True}]}))
        panel = panel.with_transformation(models.DataTransformerConfig(
            id_val="filterFieldsByName", options={"include": {"names": names}}))
        panel = panel.with_transformation(models.DataTransformerConfig(id_val="organize", options={
            "indexByName": {name: index for index, name in enumerate(names)},
            "renameByName": {column.name: column.title for column in self.columns}, "excludeByName": {}}))
        for column in self.columns:
            panel = panel.override_by_name(column.title, column.properties())
        if self.sort:
            panel = panel.sort_by([common.TableSortByFieldState().display_name(title.removeprefix("-")).desc(title.startswith("-"))
                                   for title in self.sort])
        return self.finish(panel, PromQueryFormat.TABLE)
