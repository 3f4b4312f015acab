// Answers of Prometheus as Grafana's data frames: what its data source does on Grafana's server.
import { toDataFrame, FieldType, rangeUtil } from '@grafana/data';

const SCRAPE = 1000;
export function makeReplace(vars) {
  return (s, scoped) =>
    typeof s !== 'string'
      ? s
      : s.replace(/\$(\w+)|\$\{(\w+)(?:[.:]\w+)?\}|\[\[(\w+)\]\]/g, (m, a, b, c) => {
          const k = a ?? b ?? c;
          const v = scoped?.[k]?.value ?? vars[k];
          return v === undefined ? m : Array.isArray(v) ? `(${v.join('|')})` : String(v);
        });
}
const legend = (fmt, metric) => {
  if (!fmt || fmt === '__auto') {
    const { __name__ = '', ...rest } = metric;
    const l = Object.entries(rest)
      .map(([k, v]) => `${k}="${v}"`)
      .join(', ');
    return __name__ + (l ? `{${l}}` : '') || 'Value';
  }
  return fmt.replace(/\{\{\s*(.+?)\s*\}\}/g, (_, k) => metric[k] ?? '');
};
const num = (v) => (v === '+Inf' ? Infinity : v === '-Inf' ? -Infinity : Number(v));
const leNum = (f) => num(f.labels?.le ?? f.name);

async function api(path, params) {
  const r = await fetch(`/api/v1/${path}?${new URLSearchParams(params)}`);
  const j = await r.json();
  if (j.status !== 'success') throw new Error(j.error);
  return j.data.result;
}
export async function runTarget(t, panel, range, vars) {
  const { intervalMs } = rangeUtil.calculateInterval(
    range,
    panel.maxDataPoints ?? 300,
    t.interval ?? panel.interval ?? `${SCRAPE}ms`,
  );
  const rate = Math.max(intervalMs + SCRAPE, 4 * SCRAPE);
  const scoped = {
    ...vars,
    __interval: `${intervalMs}ms`,
    __interval_ms: intervalMs,
    __rate_interval: `${rate}ms`,
    __range: `${Math.round((range.to - range.from) / 1000)}s`,
  };
  const expr = makeReplace(scoped)(t.expr);
  const start = Math.floor(range.from.valueOf() / intervalMs) * intervalMs,
    end = range.to.valueOf();
  const res = t.instant
    ? await api('query', { query: expr, time: end / 1000 })
    : await api('query_range', {
        query: expr,
        start: start / 1000,
        end: end / 1000,
        step: intervalMs / 1000,
      });
  const samples = (r) => r.values ?? [r.value];
  if (t.format === 'table') {
    const names = [...new Set(res.flatMap((r) => Object.keys(r.metric)))].sort();
    const rows = res.flatMap((r) => samples(r).map(([ts, v]) => ({ ts: ts * 1000, v: num(v), m: r.metric })));
    return [
      toDataFrame({
        refId: t.refId,
        fields: [
          { name: 'Time', type: FieldType.time, values: rows.map((r) => r.ts) },
          ...names.map((n) => ({
            name: n,
            type: FieldType.string,
            config: { filterable: true },
            values: rows.map((r) => r.m[n] ?? ''),
          })),
          {
            name: panel.targets.length > 1 ? `Value #${t.refId}` : 'Value',
            type: FieldType.number,
            values: rows.map((r) => r.v),
          },
        ],
      }),
    ];
  }
  const frames = res.map((r) =>
    toDataFrame({
      refId: t.refId,
      meta: { custom: { resultType: 'matrix' } },
      fields: [
        {
          name: 'Time',
          type: FieldType.time,
          config: { interval: intervalMs },
          values: samples(r).map((s) => s[0] * 1000),
        },
        {
          name: 'Value',
          type: FieldType.number,
          labels: r.metric,
          config: { displayNameFromDS: legend(t.legendFormat, r.metric) },
          values: samples(r).map((s) => num(s[1])),
        },
      ],
    }),
  );
  if (t.format !== 'heatmap' || !frames.length) return frames;
  // cumulative "le" series -> one frame of per-bucket counts, ascending
  const sorted = frames
    .map((f) => f.fields[1])
    .map((f, i) => ({ f, t: frames[i].fields[0].values }))
    .sort((a, b) => leNum(a.f) - leNum(b.f));
  const times = [...new Set(sorted.flatMap((s) => s.t))].sort((a, b) => a - b);
  const at = sorted.map((s) => new Map(s.t.map((x, i) => [x, s.f.values[i]])));
  return [
    toDataFrame({
      refId: t.refId,
      meta: { type: 'heatmap-rows' },
      fields: [
        { name: 'Time', type: FieldType.time, config: { interval: intervalMs }, values: times },
        ...sorted.map((s, i) => ({
          name: String(s.f.labels.le),
          type: FieldType.number,
          labels: s.f.labels,
          values: times.map((x) => Math.max(0, (at[i].get(x) ?? 0) - (i ? (at[i - 1].get(x) ?? 0) : 0))),
        })),
      ],
    }),
  ];
}
