// The kinds of panels, as plugins: Grafana's own components, and look-alikes of the two that it does not export.
import {
  getDisplayValueAlignmentFactors,
  getFieldDisplayValues,
  identityOverrideProcessor,
  PanelPlugin,
} from '@grafana/data';
import { BigValue, DataLinksContextMenu, Table, TimeSeries, useTheme2, VizRepeater } from '@grafana/ui';
import { Heatmap, StateTimeline } from './viz';

function Stat({ value: { display, sparkline, hasLinks, getLinks }, options: o, orientation, ...place }) {
  const number = (link) => (
    <BigValue
      value={display}
      sparkline={sparkline}
      colorMode={o.colorMode}
      graphMode={o.graphMode}
      justifyMode={o.justifyMode ?? 'auto'}
      textMode={o.textMode}
      text={o.text}
      wideLayout={o.wideLayout}
      parentOrientation={orientation}
      onClick={link?.openMenu}
      className={link?.targetClassName}
      {...place}
    />
  );
  return hasLinks && getLinks ? <DataLinksContextMenu links={getLinks}>{number}</DataLinksContextMenu> : number();
}

function Numbers({ data, options, fieldConfig, replaceVariables, timeZone, width, height }) {
  const theme = useTheme2();
  const values = () =>
    getFieldDisplayValues({
      fieldConfig,
      reduceOptions: { values: false, ...options.reduceOptions },
      replaceVariables,
      theme,
      data: data.series,
      sparkline: options.graphMode === 'area',
      timeZone,
    });
  return (
    <VizRepeater
      getValues={values}
      source={data.series}
      width={width}
      height={height}
      orientation={options.orientation ?? 'auto'}
      autoGrid
      itemSpacing={8}
      renderCounter={0}
      renderValue={(place) => <Stat theme={theme} options={options} {...place} />}
      getAlignmentFactors={getDisplayValueAlignmentFactors}
    />
  );
}

function Lines({ data, options, width, height, timeRange, timeZone, replaceVariables }) {
  return (
    <TimeSeries
      frames={data.series}
      width={width}
      height={height}
      timeRange={timeRange}
      timeZone={[timeZone]}
      replaceVariables={replaceVariables}
      legend={options.legend}
      options={options}
    >
      {() => null}
    </TimeSeries>
  );
}

const KINDS = {
  timeseries: Lines,
  stat: Numbers,
  table: ({ data, options, width, height, timeRange }) => (
    <Table
      data={data.series[0]}
      width={width}
      height={height}
      showTypeIcons={false}
      cellHeight="sm"
      initialSortBy={options.sortBy}
      timeRange={timeRange}
    />
  ),
  heatmap: ({ data, timeRange, ...panel }) => <Heatmap frame={data.series[0]} range={timeRange} {...panel} />,
  'state-timeline': ({ data, timeRange, ...panel }) => (
    <StateTimeline frames={data.series} range={timeRange} {...panel} />
  ),
};

// A panel that says what it means to be empty is not one whose data are missing.
function body(kind) {
  const Kind = KINDS[kind];
  return function Body(panel) {
    if (!Kind) return `A panel of the kind "${kind}" is not drawn.`;
    if (panel.data.series.some((frame) => frame.length > 0)) return <Kind {...panel} />;
    const middle = { display: 'grid', placeItems: 'center', height: panel.height };
    return <div style={middle}>{panel.fieldConfig?.defaults?.noValue ?? 'No data'}</div>;
  };
}

// `names`: of the options of single kinds, as the dashboard has them.
export function pluginMaker(names) {
  const made = {};
  const option = (name) => ({
    id: name,
    path: name,
    name,
    editor: () => null,
    override: () => null,
    process: identityOverrideProcessor,
    shouldApply: () => true,
    settings: {},
  });
  function make(id) {
    const plugin = new PanelPlugin(body(id));
    plugin.meta = { id, name: id, type: 'panel', info: { version: '11', logos: {} }, module: id, baseUrl: '', sort: 1 };
    plugin.useFieldConfig({ useCustomConfig: (b) => names.forEach((name) => b.addCustomEditor(option(name))) });
    return plugin;
  }
  return (id) => (made[id] ??= make(id));
}
