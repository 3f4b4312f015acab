// Dashboards in headless Chromium, on Grafana's dashboard runtime, with data from a Prometheus.
//
// Environment: PROM (http://127.0.0.1:9090), CHROMIUM (/usr/bin/chromium).
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const root = path.dirname(fileURLToPath(import.meta.url));
const modules = path.join(root, 'node_modules');
const prometheus = process.env.PROM ?? 'http://127.0.0.1:9090';
const types = {
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.css': 'text/css',
};
const boot = {
  user: {},
  settings: {
    buildInfo: { version: '11.6.16', env: 'production' },
    featureToggles: {},
    datasources: {},
    panels: {},
    unifiedAlerting: {},
  },
  navTree: [],
};
const page = `<!doctype html><meta charset=utf-8><meta name=viewport content="width=device-width,initial-scale=1">
<link rel=icon href=data:,><style>body { margin: 0 }</style><link rel=stylesheet href="/dist/main.css">
<script>window.__grafana_public_path__ = '/public/'; window.grafanaBootData = ${JSON.stringify(boot)}</script>
<div id=root></div><script type=module src="/dist/main.js"></script>`;

function font(name) {
  if (name.includes('roboto')) return '@fontsource/roboto-mono/files/roboto-mono-latin-400-normal.woff2';
  return `@fontsource/inter/files/inter-latin-${name.includes('Medium') ? 500 : 400}-normal.woff2`;
}

function server(boards) {
  const state = { waiting: 0 };
  async function answer(request, reply) {
    const name = new URL(request.url, 'http://localhost').pathname;
    reply.setHeader('content-type', types[path.extname(name)] ?? 'application/octet-stream');
    if (name.startsWith('/d/')) {
      reply.setHeader('content-type', 'text/html');
      return reply.end(page);
    }
    if (name.startsWith('/api/')) {
      state.waiting += 1;
      const failed = (error) => JSON.stringify({ status: 'error', error: String(error) });
      reply.setHeader('content-type', 'application/json');
      const text = await fetch(prometheus + request.url).then((answered) => answered.text(), failed);
      state.waiting -= 1;
      return reply.end(text);
    }
    const [, uid] = name.match(/^\/dashboards\/ioc-exporter-(\w+)\.json$/) ?? [];
    let found = path.join(root, name);
    if (uid) found = path.join(boards, `${uid}.json`);
    else if (name.startsWith('/public/img/')) found = path.join(modules, '@grafana/ui/dist', name);
    else if (name.startsWith('/public/fonts/')) found = path.join(modules, font(name));
    if (!fs.existsSync(found)) {
      reply.statusCode = 404;
      return reply.end();
    }
    return reply.end(fs.readFileSync(found));
  }
  state.server = http.createServer(answer);
  return new Promise((ready) => state.server.listen(0, '127.0.0.1', () => ready(state)));
}

export class Browser {
  // `boards`: the folder of the dashboards' JSON files.
  static async start(boards) {
    const made = new Browser();
    made.state = await server(boards);
    made.chromium = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox'], // it runs as root, too
    });
    return made;
  }

  // `address`: path and query, as in Grafana.
  async open(address, { width = 1400, height = 900, theme = 'dark' } = {}) {
    await this.tab?.close();
    this.tab = await this.chromium.newPage({ viewport: { width, height } });
    this.errors = [];
    this.tab.on('pageerror', (error) => this.errors.push(`page: ${error.message}`));
    const at = new URL(address, `http://127.0.0.1:${this.state.server.address().port}`);
    at.searchParams.set('theme', theme);
    await this.tab.goto(at.href);
    await this.settle();
  }

  // Until all panels have their data, and none asks again.
  async settle() {
    const end = Date.now() + 120000;
    for (let quiet = 0; quiet < 4; ) {
      if (Date.now() > end) throw new Error('panels still wait for data after two minutes');
      await this.tab.waitForTimeout(100);
      const ready = this.state.waiting === 0 && (await this.tab.evaluate(() => window.__ready?.()).catch(() => false));
      quiet = ready ? quiet + 1 : 0;
    }
  }

  panel(title) {
    return this.tab.getByTestId(`data-testid Panel header ${title}`);
  }

  // Visible content of a panel: its text, the rows of a table by cells, and the links with their targets.
  async read(title) {
    return this.panel(title).evaluate((panel) => ({
      text: panel.innerText,
      rows: [...panel.querySelectorAll('[role=row]')].map((row) =>
        [...row.querySelectorAll('[role=cell], [role=columnheader]')].map((cell) => cell.innerText.trim()),
      ),
      links: [...panel.querySelectorAll('a[href]')].map((link) => [link.innerText.trim(), link.href, link.title]),
    }));
  }

  // Clicks what is written in a panel, and of the links that are offered then, the one that is called so.
  async click(title, text, link) {
    await this.panel(title).getByText(text, { exact: true }).first().click();
    if (link) await this.tab.getByText(link, { exact: true }).click();
    await this.settle();
  }

  // Clicks a row, or a link of the dashboard itself.
  async press(button) {
    await this.tab.getByRole('button', { name: button }).first().click();
    await this.settle();
  }

  async type(label, text) {
    const box = this.tab.locator('label', { hasText: label }).locator('xpath=..').locator('input');
    await box.fill(text);
    await box.press('Enter');
    await this.settle();
  }

  async address() {
    return decodeURIComponent(this.tab.url());
  }

  titles() {
    const prefix = 'data-testid Panel header ';
    return this.tab.evaluate(
      (start) =>
        [...document.querySelectorAll(`section[data-testid^="${start}"]`)].map((p) => p.dataset.testid.slice(start.length)),
      prefix,
    );
  }

  // Panels that fail, or show no data without saying why.
  async problems() {
    const found = [...this.errors];
    for (const title of await this.titles()) {
      const panel = this.panel(title).first();
      const failed = await panel.getByTestId('data-testid Panel status error').count();
      const text = await panel.innerText();
      if (failed || /No data|is not drawn/.test(text)) found.push(`${title}: ${failed ? 'failed' : 'no data'}`);
    }
    return found;
  }

  // A whole page is as high as the window: what Grafana lays out in rows is not drawn below it.
  async picture(path, whole = true) {
    if (whole) {
      const height = await this.tab.evaluate(() => document.documentElement.scrollHeight);
      await this.tab.setViewportSize({ width: this.tab.viewportSize().width, height });
      await this.settle();
    }
    await this.tab.screenshot({ path });
    return path;
  }

  async close() {
    await this.chromium.close();
    this.state.server.close();
  }
}
