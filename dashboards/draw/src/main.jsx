// A page that shows one dashboard on Grafana's own dashboard runtime: its variables, links and layout. The address says
// which, and what is chosen, as Grafana's does: /d/UID?var-ioc=vac&from=now-1h. The theme is in `theme`.
import './grafana';
import { createRoot } from 'react-dom/client';
import { BrowserRouter } from 'react-router-dom';
import { from } from 'rxjs';
import { createTheme, EventBusSrv, LoadingState, ThemeContext } from '@grafana/data';
import * as runtime from '@grafana/runtime';
import * as scenes from '@grafana/scenes';
import { GlobalStyles, PortalContainer } from '@grafana/ui';
import { pluginMaker } from './panels';
import { Prometheus } from './prometheus';

const asked = new URLSearchParams(location.search);
const theme = createTheme({ colors: { mode: asked.get('theme') === 'light' ? 'light' : 'dark' } });
const model = await (await fetch(`/dashboards/${location.pathname.split('/').pop()}.json`)).json();

function* panels(list) {
  for (const panel of list) {
    yield panel;
    yield* panels(panel.panels ?? []);
  }
}

function kindOptions() {
  const names = new Set();
  for (const { fieldConfig: config } of panels(model.panels)) {
    Object.keys(config?.defaults?.custom ?? {}).forEach((name) => names.add(name));
    for (const { properties } of config?.overrides ?? [])
      properties.filter(({ id }) => id.startsWith('custom.')).forEach(({ id }) => names.add(id.slice(7)));
  }
  return names;
}

// There is a Prometheus, and nothing else.
function useSources() {
  const meta = { id: 'prometheus', name: 'Prometheus', info: { version: '' } };
  const settings = { id: 1, uid: 'prometheus', name: 'Prometheus', type: 'prometheus', meta, jsonData: {}, isDefault: true };
  const source = new Prometheus(settings);
  const known = (type) => !type || type === 'prometheus';
  const named = (reference) => known(reference?.type) && settings;
  runtime.setDataSourceSrv({
    get: async (reference) => {
      if (!named(reference)) throw new Error('There is no such data source');
      return source;
    },
    getInstanceSettings: (reference) => named(reference) || undefined,
    getList: ({ pluginId } = {}) => (known(pluginId) ? [settings] : []),
    reload() {},
  });
  runtime.setRunRequest((_, request) => from(answered(source, request)));
}

async function answered(source, request) {
  const answer = { series: [], timeRange: request.range, request, annotations: [] };
  try {
    return { ...answer, state: LoadingState.Done, series: (await source.query(request)).data };
  } catch ({ message }) {
    return { ...answer, state: LoadingState.Error, errors: [{ message }] };
  }
}

function variable(v) {
  const all = { name: v.name, label: v.label, hide: v.hide };
  if (v.type === 'datasource') return new scenes.DataSourceVariable({ ...all, pluginId: v.query, value: '', text: '' });
  if (v.type === 'constant') return new scenes.ConstantVariable({ ...all, value: v.query ?? '' });
  if (v.type === 'textbox') return new scenes.TextBoxVariable({ ...all, value: v.query ?? '' });
  return new scenes.QueryVariable({
    ...all,
    query: v.query,
    datasource: v.datasource,
    isMulti: v.multi,
    includeAll: v.includeAll,
    allValue: v.allValue ?? undefined,
    refresh: v.refresh,
    sort: v.sort,
    regex: v.regex ?? '',
    value: v.current?.value ?? '',
    text: v.current?.text ?? '',
    defaultToAll: !!v.includeAll,
  });
}

function dataOf({ targets: queries, datasource, maxDataPoints, transformations }) {
  if (!queries?.length) return undefined;
  const runner = new scenes.SceneQueryRunner({ queries, datasource, maxDataPoints });
  return transformations?.length ? new scenes.SceneDataTransformer({ $data: runner, transformations }) : runner;
}

function item(panel) {
  const { gridPos, id, title, description, type: pluginId, options = {}, fieldConfig } = panel;
  const body = new scenes.VizPanel({
    key: `panel-${id}`,
    title,
    description,
    pluginId,
    pluginVersion: '11.6.0',
    options,
    fieldConfig: { defaults: {}, overrides: [], ...fieldConfig },
    $data: dataOf(panel),
  });
  return new scenes.SceneGridItem({ x: gridPos.x, y: gridPos.y, width: gridPos.w, height: gridPos.h, body });
}

function rows() {
  const children = [];
  let row;
  for (const panel of model.panels) {
    if (panel.type === 'row') {
      const { title, collapsed: isCollapsed = false, gridPos, panels: inside = [] } = panel;
      row = new scenes.SceneGridRow({ title, isCollapsed, y: gridPos.y, children: inside.map(item) });
      children.push(row);
    } else if (row && !row.state.isCollapsed) row.setState({ children: [...row.state.children, item(panel)] });
    else children.push(item(panel));
  }
  return children;
}

function scene() {
  const { from: start = model.time.from, to = model.time.to } = Object.fromEntries(asked);
  const made = new scenes.EmbeddedScene({
    $timeRange: new scenes.SceneTimeRange({ from: start, to, timeZone: 'utc' }),
    $variables: new scenes.SceneVariableSet({ variables: model.templating.list.map(variable) }),
    controls: [
      new scenes.VariableValueSelectors({}),
      new scenes.SceneControlsSpacer(),
      new scenes.SceneTimePicker({ isOnCanvas: true }),
    ],
    body: new scenes.SceneGridLayout({ children: rows(), isDraggable: false, isResizable: false, isLazy: false }),
  });
  scenes.sceneUtils.syncStateFromSearchParams(made, asked);
  return made;
}

// The links of the dashboard itself, with their variables filled in at the time of the click.
function BoardLinks({ of }) {
  const lead = (url) => location.assign(scenes.sceneGraph.interpolate(of, url));
  return model.links
    .filter(({ type }) => type === 'link')
    .map(({ title, url }) => (
      <button key={title} style={{ marginLeft: 16, fontSize: 12 }} onClick={() => lead(url)}>
        {title}
      </button>
    ));
}

function Page({ of }) {
  return (
    <div style={{ minHeight: '100vh', display: 'flex', flexDirection: 'column' }}>
      <div style={{ padding: '12px 16px 0', fontSize: 18 }}>
        {model.title}
        <BoardLinks of={of} />
      </div>
      <of.Component model={of} />
    </div>
  );
}

runtime.config.theme2 = theme;
runtime.setAppEvents(new EventBusSrv());
runtime.setTemplateSrv({
  replace: (text) => text,
  getVariables: () => [],
  containsTemplate: () => false,
  updateTimeRange() {},
});
useSources();
const plugin = pluginMaker(kindOptions());
runtime.setPluginImportUtils({ importPanelPlugin: async (id) => plugin(id), getPanelPluginFromCache: plugin });
const shown = scene();
await document.fonts.ready;
createRoot(document.getElementById('root')).render(
  <ThemeContext.Provider value={theme}>
    <GlobalStyles />
    <BrowserRouter>
      <PortalContainer />
      <Page of={shown} />
    </BrowserRouter>
  </ThemeContext.Provider>,
);

// Do all panels that can be seen have their data?
window.__ready = () =>
  document.querySelector('[data-panelid], [class*=panel-container]') !== null &&
  scenes.sceneGraph
    .findAllObjects(shown, (one) => one instanceof scenes.SceneQueryRunner && one.isActive)
    .every((runner) => runner.state.data?.state === LoadingState.Done || runner.state.data?.state === LoadingState.Error);
