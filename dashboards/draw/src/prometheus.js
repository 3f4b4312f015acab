// A Prometheus as Grafana's data source: what its plugin does on Grafana's server, and in its front end.
import { DataSourceApi, FieldType, toDataFrame } from '@grafana/data';
import { sceneGraph } from '@grafana/scenes';

const SCRAPE_MS = 5000; // the interval that the data source is configured with

// As Grafana's plugin writes a variable into a query: those of which several can be chosen as an expression.
function written(value, variable) {
  const plain = (text) => (typeof text === 'string' ? text.replace(/\\/g, '\\\\').replace(/'/g, "\\\\'") : text);
  const literal = (text) =>
    typeof text === 'string' ? text.replace(/\\/g, '\\\\\\\\').replace(/[$^*{}[\]'+?.()|]/g, '\\\\$&') : text;
  if (!variable?.multi && !variable?.includeAll) return plain(value);
  if (typeof value === 'string') return literal(value);
  return value.length === 1 ? literal(value[0]) : `(${value.map(literal).join('|')})`;
}

async function api(path, parameters) {
  const answer = await fetch(`/api/v1/${path}?${new URLSearchParams(parameters)}`).then((reply) => reply.json());
  if (answer.status !== 'success') throw new Error(answer.error);
  return answer.data;
}

const number = (text) => (text === '+Inf' ? Infinity : text === '-Inf' ? -Infinity : Number(text));
const samples = (series) => series.values ?? [series.value];

function legend(format, { __name__ = '', ...labels }) {
  if (format && format !== '__auto') return format.replace(/\{\{\s*(.+?)\s*\}\}/g, (_, name) => labels[name] ?? '');
  const inside = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return __name__ + (inside.length ? `{${inside.join(',')}}` : '') || 'Value';
}

function table(target, found, several) {
  const names = [...new Set(found.flatMap((series) => Object.keys(series.metric)))].sort();
  const rows = found.flatMap((series) => samples(series).map(([at, value]) => ({ at, value, labels: series.metric })));
  const label = (name) => ({
    name,
    type: FieldType.string,
    config: { filterable: true },
    values: rows.map((row) => row.labels[name] ?? ''),
  });
  return [
    toDataFrame({
      refId: target.refId,
      fields: [
        { name: 'Time', type: FieldType.time, values: rows.map((row) => row.at * 1000) },
        ...names.map(label),
        {
          name: several ? `Value #${target.refId}` : 'Value',
          type: FieldType.number,
          values: rows.map((row) => number(row.value)),
        },
      ],
    }),
  ];
}

function lines(target, found, interval) {
  return found.map((series) =>
    toDataFrame({
      refId: target.refId,
      fields: [
        { name: 'Time', type: FieldType.time, config: { interval }, values: samples(series).map(([at]) => at * 1000) },
        {
          name: 'Value',
          type: FieldType.number,
          labels: series.metric,
          config: { displayNameFromDS: legend(target.legendFormat, series.metric) },
          values: samples(series).map(([, value]) => number(value)),
        },
      ],
    }),
  );
}

// Buckets, each with all below it: one frame, with the count of each bucket alone.
function heatmap(target, found, interval) {
  const edges = found.map((series) => ({ labels: series.metric, at: new Map(samples(series)) }));
  if (!edges.length) return [];
  edges.sort((a, b) => number(a.labels.le) - number(b.labels.le));
  const times = [...new Set(edges.flatMap(({ at }) => [...at.keys()]))].sort((a, b) => a - b);
  const count = (edge, time) => Number(edge?.at.get(time) ?? 0);
  const bucket = (edge, i) => ({
    name: String(edge.labels.le),
    type: FieldType.number,
    labels: edge.labels,
    values: times.map((time) => Math.max(0, count(edge, time) - count(edges[i - 1], time))),
  });
  return [
    toDataFrame({
      refId: target.refId,
      fields: [
        { name: 'Time', type: FieldType.time, config: { interval }, values: times.map((time) => time * 1000) },
        ...edges.map(bucket),
      ],
    }),
  ];
}

export class Prometheus extends DataSourceApi {
  constructor(settings) {
    super(settings);
    this.meta = settings.meta;
  }

  async query(request) {
    const { range, targets, scopedVars } = request;
    const scene = scopedVars?.__sceneObject?.valueOf?.();
    const interval = Math.max(request.intervalMs ?? SCRAPE_MS, SCRAPE_MS);
    const seconds = (time) => time.valueOf() / 1000;
    const own = {
      __rate_interval: `${Math.max(interval + SCRAPE_MS, 4 * SCRAPE_MS)}ms`,
      __range: `${Math.round(seconds(range.to) - seconds(range.from))}s`,
      __interval: `${interval}ms`,
    };
    const frames = targets.map(async (target) => {
      const asked = target.expr.replace(/\$\{?(__rate_interval|__range|__interval)\}?(?!\w)/g, (_, name) => own[name]);
      const query = sceneGraph.interpolate(scene, asked, scopedVars, written);
      const end = seconds(range.to);
      const step = interval / 1000;
      const { result } = target.instant
        ? await api('query', { query, time: end })
        : await api('query_range', { query, start: Math.floor(seconds(range.from) / step) * step, end, step });
      if (target.format === 'table') return table(target, result, targets.length > 1);
      return (target.format === 'heatmap' ? heatmap : lines)(target, result, interval);
    });
    return { data: (await Promise.all(frames)).flat() };
  }

  // The choices of a variable.
  async metricFindQuery({ query }, { scopedVars, range }) {
    const scene = scopedVars?.__sceneObject?.valueOf?.();
    const asked = sceneGraph.interpolate(scene, query, scopedVars, written);
    const [, expression] = asked.match(/^query_result\((.*)\)$/s) ?? [];
    if (expression) {
      const { result } = await api('query', { query: expression });
      return result.map(({ metric, value: [at, value] }) => ({ text: `${legend('', metric)} ${value} ${at * 1000}` }));
    }
    const [, series, label] = asked.match(/^label_values\((.*),\s*(\w+)\)$/);
    const time = range && { start: range.from.valueOf() / 1000, end: range.to.valueOf() / 1000 };
    return (await api(`label/${label}/values`, { 'match[]': series, ...time })).map((text) => ({ text }));
  }

  testDatasource() {
    return Promise.resolve({});
  }
}
