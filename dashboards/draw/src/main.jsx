// A page that shows one dashboard: the panels of its JSON, with data, in one theme. The address says which and when.
import './grafana';
import React, { useEffect, useMemo, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { lastValueFrom } from 'rxjs';
import * as GUI from '@grafana/ui';
import {
  createTheme,
  ThemeContext,
  applyFieldOverrides,
  getFieldDisplayValues,
  transformDataFrame,
  rangeUtil,
  getDisplayValueAlignmentFactors,
  EventBusSrv,
  cacheFieldDisplayNames,
} from '@grafana/data';
import { runTarget, makeReplace } from './query';
import { registryFor } from './grafana';
import { Heatmap, StateTimeline } from './viz';

const {
  PanelChrome,
  PanelContextProvider,
  TimeSeries,
  BigValue,
  BarGauge,
  Table,
  VizRepeater,
  GlobalStyles,
} = GUI;
const q = new URLSearchParams(location.search);
const theme = createTheme({ colors: { mode: q.get('theme') === 'light' ? 'light' : 'dark' } });
const bus = new EventBusSrv();
const GAP = 8,
  CELL = 30;
let pending = 0;
const done = () => {
  if (--pending === 0)
    setTimeout(() => {
      window.__ready = true;
    }, 400);
};

async function load(panel, range, vars, timeZone) {
  const raw = (
    await Promise.all(
      (panel.targets ?? []).filter((t) => !t.hide && t.expr).map((t) => runTarget(t, panel, range, vars)),
    )
  ).flat();
  const replace = makeReplace(vars);
  const tf = panel.transformations?.length
    ? await lastValueFrom(transformDataFrame(panel.transformations, raw, { interpolate: replace }))
    : raw;
  const out = applyFieldOverrides({
    data: tf,
    fieldConfig: { defaults: {}, overrides: [], ...panel.fieldConfig },
    replaceVariables: replace,
    theme,
    timeZone,
    fieldConfigRegistry: registryFor(panel),
  });
  cacheFieldDisplayNames(out);
  return out;
}
function Body({ panel, frames, width, height, range, timeZone, replace }) {
  const o = panel.options ?? {};
  const values = () =>
    getFieldDisplayValues({
      fieldConfig: panel.fieldConfig,
      reduceOptions: { calcs: ['lastNotNull'], values: false, ...o.reduceOptions },
      replaceVariables: replace,
      theme,
      data: frames,
      sparkline: o.graphMode === 'area',
      timeZone,
    });
  const repeat = (renderValue, extra) => (
    <VizRepeater
      getValues={values}
      source={frames}
      width={width}
      height={height}
      orientation={o.orientation ?? 'auto'}
      autoGrid
      itemSpacing={8}
      renderCounter={0}
      renderValue={renderValue}
      getAlignmentFactors={getDisplayValueAlignmentFactors}
      {...extra}
    />
  );
  // A panel that says what it means to be empty is not one whose data are missing.
  if (panel.targets?.length && !frames.some((frame) => frame.length > 0))
    return (
      <div style={{ display: 'grid', placeItems: 'center', height }}>
        {panel.fieldConfig?.defaults?.noValue ?? 'No data'}
      </div>
    );
  switch (panel.type) {
    case 'timeseries':
      return (
        <TimeSeries
          frames={frames}
          width={width}
          height={height}
          timeRange={range}
          timeZone={[timeZone]}
          legend={{ showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [], ...o.legend }}
          options={o}
        >
          {() => null}
        </TimeSeries>
      );
    case 'stat':
      return repeat(({ value, width, height, orientation, count, alignmentFactors }) => (
        <BigValue
          value={value.display}
          sparkline={value.sparkline}
          count={count}
          width={width}
          height={height}
          theme={theme}
          colorMode={o.colorMode ?? 'value'}
          graphMode={o.graphMode ?? 'area'}
          justifyMode={o.justifyMode ?? 'auto'}
          textMode={o.textMode ?? 'auto'}
          alignmentFactors={alignmentFactors}
          text={o.text}
        />
      ));
    case 'bargauge':
      return repeat(
        ({ value, width, height, orientation, alignmentFactors }) => (
          <BarGauge
            value={value.display}
            field={value.field}
            display={value.view?.getFieldDisplayProcessor(value.colIndex)}
            width={width}
            height={height}
            orientation={orientation}
            theme={theme}
            itemSpacing={8}
            lcdCellWidth={8}
            displayMode={o.displayMode ?? 'gradient'}
            showUnfilled={o.showUnfilled}
            valueDisplayMode={o.valueMode}
            alignmentFactors={alignmentFactors}
            text={o.text}
          />
        ),
        { autoGrid: false, minVizHeight: 10, minVizWidth: 75 },
      );
    case 'table':
      return (
        <Table
          data={frames[0]}
          width={width}
          height={height}
          showTypeIcons={false}
          noHeader={o.showHeader === false}
          cellHeight={o.cellHeight ?? 'sm'}
          initialSortBy={o.sortBy}
          timeRange={range}
        />
      );
    case 'heatmap':
      return (
        <Heatmap
          frame={frames[0]}
          options={o}
          width={width}
          height={height}
          range={range}
          timeZone={timeZone}
        />
      );
    case 'state-timeline':
      return (
        <StateTimeline
          frames={frames}
          options={o}
          width={width}
          height={height}
          range={range}
          timeZone={timeZone}
        />
      );
    default:
      return `panel type "${panel.type}" not drawn`;
  }
}
class Catch extends React.Component {
  state = {};
  static getDerivedStateFromError(e) {
    return { e };
  }
  componentDidCatch(e) {
    (window.__errors ??= []).push(`${this.props.id}: ${e.stack}`);
  }
  render() {
    return this.state.e ? <pre>{String(this.state.e)}</pre> : this.props.children;
  }
}

function Panel({ panel, range, vars, timeZone, colWidth }) {
  const [frames, set] = useState();
  const [err, setErr] = useState();
  const replace = useMemo(() => makeReplace(vars), [vars]);
  useEffect(() => {
    pending++;
    load(panel, range, vars, timeZone)
      .then(set, (e) => {
        (window.__errors ??= []).push(`${panel.id}: ${e.stack}`);
        setErr(String(e));
      })
      .finally(done);
  }, []);
  const g = panel.gridPos,
    box = {
      position: 'absolute',
      left: g.x * colWidth,
      top: g.y * (CELL + GAP),
      width: g.w * colWidth - GAP,
      height: g.h * (CELL + GAP) - GAP,
    };
  if (panel.type === 'row')
    return (
      <div style={{ ...box, fontWeight: 500, paddingTop: 4 }}>
        <GUI.Icon name="angle-down" /> {replace(panel.title)}
      </div>
    );
  const ctx = { eventBus: bus, eventsScope: '', app: 'dashboard', sync: () => 0 };
  return (
    <div style={box} data-panel={panel.id}>
      <PanelContextProvider value={ctx}>
        <PanelChrome
          title={replace(panel.title)}
          description={panel.description}
          width={box.width}
          height={box.height}
          displayMode={panel.transparent ? 'transparent' : 'default'}
          statusMessage={err}
        >
          {(w, h) => (
            <Catch id={panel.id}>
              {frames ? <Body {...{ panel, frames, range, timeZone, replace }} width={w} height={h} /> : null}
            </Catch>
          )}
        </PanelChrome>
      </PanelContextProvider>
    </div>
  );
}
function Dashboard({ model }) {
  const range = useMemo(
    () =>
      rangeUtil.convertRawToRange({
        from: q.get('from') ?? model.time.from,
        to: q.get('to') ?? model.time.to,
      }),
    [],
  );
  const vars = useMemo(
    () =>
      Object.fromEntries(
        (model.templating?.list ?? []).map((v) => [v.name, q.get(`var-${v.name}`) ?? v.current?.value]),
      ),
    [],
  );
  const colWidth = (innerWidth - 2 * GAP) / 24,
    rows = Math.max(...model.panels.map((p) => p.gridPos.y + p.gridPos.h));
  const tz = model.timezone === 'browser' || !model.timezone ? 'browser' : model.timezone;
  return (
    <div style={{ padding: GAP }}>
      <h3 style={{ height: 26 }}>{model.title}</h3>
      <div style={{ position: 'relative', height: rows * (CELL + GAP) }}>
        {model.panels.map((p) => (
          <Panel key={p.id} panel={p} {...{ range, vars, colWidth }} timeZone={tz} />
        ))}
      </div>
    </div>
  );
}
const model = await (await fetch('/dashboard.json')).json();
await document.fonts.ready;
createRoot(document.getElementById('root')).render(
  <ThemeContext.Provider value={theme}>
    <GlobalStyles />
    <Dashboard model={model} />
  </ThemeContext.Provider>,
);
