"""A dashboard: its variables, and its panels from left to right."""
from dataclasses import dataclass, field

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models import dashboard as models

from panels import DOWN, SOURCE, TOL, Row, Table, exporter_url

# The selectors of every query, from the variables. Grafana itself writes variables with several values as quoted regular
# expressions.
HOSTS = 'job=~"$job", instance=~"$instance"'
IOCS = f'{HOSTS}, ioc=~"$ioc"'
# Of all that Prometheus scrapes, the exporters: jobs that have had one in the last day.
EXPORTERS_DOWN = (f"(up{{{HOSTS}}} == 0 and on (job) "
                  f'max by (job) (last_over_time(ioc_exporter_build_info{{job=~"$job"}}[1d])))')

# Alerts about an IOC, without those about who writes to it: as the rule ioc:epics_ioc:state takes them.
NO_WRITERS = 'alertname!~"Epics(Unexpected|Forbidden)Put|EpicsPuts(Fail|Refused)|Epics(Client|Pv)PutStorm"'

# Of a site: where tables lead from a PV.
SETTINGS = {"archiver": "Page that shows a PV's values, up to the PV's name: https://archiver.site/retrieval/ui/viewer/archViewer.html?pv=",
            "phoebus": "Application of Phoebus that opens a PV by a link pv://: databrowser, probe or pv_table"}

# When Prometheus was last answered by them: to the minute.
LAST_SEEN = f"max by (job, instance) (max_over_time(timestamp(up{{{HOSTS}}} == 1)[1d:1m]))"


# All instances, and then those of which a rule has a sum over all hosts: the ".+" of All matches the name of the job, too,
# which no instance has.
ALL_HOSTS = 'job=~"$job", job=~"$instance"'
SOME_HOSTS = f'{HOSTS}, job!~"$instance"'


def halves(summed: str, each: str, *typed: str, whole: str = "") -> str:
    """What a rule has summed by host, or chosen there, where all IOCs are chosen (and nothing is `typed`); otherwise the
    same of the IOCs that are. All have CHOSEN in their selectors. No series has the label "chosen": it is empty, which
    only the ".*" of All matches. So one half is nothing, and costs nothing. `whole`, where there is one, is what a rule
    has summed over all hosts, for when all of those are chosen, too."""
    all_of = "($ioc)" + "".join(f"(${name})" for name in typed)
    parts = [whole.replace("CHOSEN", f'{ALL_HOSTS}, chosen=~"{all_of}"')] if whole else []
    parts += [summed.replace("CHOSEN", f'{SOME_HOSTS if whole else HOSTS}, chosen=~"{all_of}"'),
              each.replace("CHOSEN", f'{IOCS}, chosen!~"{all_of}"')]
    return "(" + " or ".join(parts) + ")"


def variable(name: str, label: str, query: str):
    """A list from Prometheus, of which one chooses any number; all of it at first."""
    return (dashboard.QueryVariable(name).label(label).query({"query": query, "refId": name}).datasource(SOURCE)
              .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED).sort(models.VariableSort.ALPHABETICAL_ASC)
              .multi(True).include_all(True).all_value(".*" if name == "ioc" else ".+")
            .current(models.VariableOption(text="All", value="$__all", selected=True)))


def hidden(name: str, query: str, label: str):
    """The value of a label of what a query finds now."""
    return (dashboard.QueryVariable(name).hide(models.VariableHide.HIDE_VARIABLE).datasource(SOURCE)
            .query({"query": f"query_result({query})", "refId": name}).regex(f'/[{{,]{label}="(.*?)"[,}}]/')
            .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED).multi(False).include_all(False))


def setting(name: str, description: str):
    """Of a site, in the file alone: a link to a dashboard must not choose where its links lead."""
    made = dashboard.ConstantVariable(name).description(description).value("")
    made._internal.skip_url_sync = True  # the SDK has no method for it
    return made


def exporter_of_runbooks():
    """Where links to runbooks lead: any exporter that answers has all pages. The mixin puts the site's scheme, port or pages in."""
    return hidden("exporter", exporter_url('topk(1, ioc_exporter_build_info{job=~"$job"})'), "url")


def matcher_of(name: str):
    """What was typed, as what follows a label's name: an expression in =~``, one behind "!" in !~``, and of nothing =~`.*`. The
    series that is absent is nobody's: it makes a label of the text."""
    pattern = r".*?([=!])\\s*(?:([^!\\s].*?)\\s*[|][.][*]|[|](.*))"
    return hidden(f"{name}s", f'label_replace(absent(typed{{typed="=${name}|.*"}}), "typed", "$1~`$2$3`", "typed", "{pattern}")', "typed")


def annotations(selector: str, of_iocs: bool):
    """What happened: lines in all panels over time. The step of Grafana's query is a minute at least."""
    found = [("Reloads", f"changes(ioc_exporter_config_last_reload_success_timestamp_seconds{{{HOSTS}}}[2m]) > 0",
              TOL["teal"], True),
             ("Alerts", f'max by (alertname, ioc, severity) (ALERTS{{alertstate="firing", severity=~"critical|warning", '
              f"{selector if of_iocs else HOSTS}}})", DOWN, False)]
    if of_iocs:
        found.insert(0, ("IOC restarts", f"ioc:epics_ioc_restarts:increase2m{{{selector}}}", TOL["orange"], True))
    for name, expression, color, enabled in found:
        yield (dashboard.AnnotationQuery().name(name).datasource(SOURCE).enable(enabled).hide(False).icon_color(color)
               .expr(f"topk(50, {expression})"))


@dataclass
class Board:
    uid: str
    title: str
    description: str
    iocs: bool  # can be chosen
    panels: list
    # Text fields: label by name. Queries have pv${pvs:raw} for the text typed as $pv.
    texts: dict = field(default_factory=dict)
    logs: bool = False  # the first Loki, unless the link says another one: var-logs=
    wall: bool = False  # nothing can be chosen: of all hosts

    def build(self) -> models.Dashboard:
        board = (dashboard.Dashboard(self.title).uid(self.uid).description(self.description).tags(["epics"])
                 .readonly().tooltip(models.DashboardCursorSync.CROSSHAIR).refresh("30s").time("now-1h", "now")
                 .timezone("browser")
                 .link(dashboard.DashboardLink("EPICS").type(models.DashboardLinkType.DASHBOARDS).tags(["epics"])
                       .as_dropdown(False).include_vars(True).keep_time(True))
                 .link(dashboard.DashboardLink("All again").type(models.DashboardLinkType.LINK).keep_time(True)
                       .url(f"/d/{self.uid}?${{datasource:queryparam}}")))
        hosts = [dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"),
                 variable("job", "Job", "label_values(ioc_exporter_build_info, job)"),
                 variable("instance", "Instance", 'label_values(ioc_exporter_build_info{job=~"$job"}, instance)')]
        for one in hosts:
            board = board.with_variable(one.hide(models.VariableHide.HIDE_VARIABLE) if self.wall else one)
        if self.iocs:
            board = board.with_variable(variable(
                "ioc", "IOC", 'label_values(epics_ioc_up{job=~"$job", instance=~"$instance"}, ioc)'))
        for name, label in self.texts.items():
            board = board.with_variable(dashboard.TextBoxVariable(name).label(label).default_value(""))
            board = board.with_variable(matcher_of(name))
        if any(isinstance(panel, Table) and panel.of_values for panel in self.panels):
            for name, description in SETTINGS.items():
                board = board.with_variable(setting(name, description))
        if self.logs:
            board = board.with_variable(dashboard.DatasourceVariable("logs").label("Logs").type("loki")
                                        .hide(models.VariableHide.HIDE_VARIABLE))
        if not self.wall:
            board = board.with_variable(exporter_of_runbooks())
            for one in annotations(IOCS if self.iocs else HOSTS, self.iocs):
                board = board.annotation(one)
        x = y = height = 0
        for number, panel in enumerate(self.panels, 1):
            if isinstance(panel, Row):
                y, x, height = y + height, 0, 0
                row = dashboard.Row(panel.title).id(number).grid_pos(models.GridPos(x=0, y=y, w=24, h=1))
                y += 1
                if panel.closed:
                    row = row.collapsed(True)
                for inside, one in enumerate(panel.closed, 1):
                    row = row.with_panel(one.build().id(100 * number + inside).grid_pos(
                        models.GridPos(x=0, y=y, w=one.width, h=one.height)))
                board = board.with_row(row)
                continue
            if x + panel.width > 24:
                y, x, height = y + height, 0, 0
            board = board.with_panel(panel.build().id(number).grid_pos(
                models.GridPos(x=x, y=y, w=panel.width, h=panel.height)))
            x, height = x + panel.width, max(height, panel.height)
        return board.build()
