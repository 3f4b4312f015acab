// Draws a dashboard with Grafana's own panel components and data from a Prometheus, in headless Chromium:
//
//   node draw.mjs DASHBOARD.json OUT_PREFIX [NAME=VALUE...]     values of variables; from= and to= are the time shown
//
// Environment: PROM (http://127.0.0.1:9090), CHROMIUM (/usr/bin/chromium), WIDTH (1400), HEIGHT (all of it).
// Writes OUT_PREFIX-dark.png and OUT_PREFIX-light.png; exits 1 when a panel fails or shows no data.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const [file, out, ...values] = process.argv.slice(2);
if (!out) {
  console.error('usage: node draw.mjs DASHBOARD.json OUT_PREFIX [NAME=VALUE...]');
  process.exit(2);
}
const root = path.dirname(fileURLToPath(import.meta.url));
const modules = path.join(root, 'node_modules');
const prometheus = process.env.PROM ?? 'http://127.0.0.1:9090';
const width = Number(process.env.WIDTH ?? 1400);
const height = Number(process.env.HEIGHT ?? 0);
const types = {
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.css': 'text/css',
};
const page = `<!doctype html><meta charset=utf-8><link rel=icon href=data:,>
<link rel=stylesheet href="/dist/main.css"><script>window.__grafana_public_path__ = '/public/'</script>
<div id=root></div><script type=module src="/dist/main.js"></script>`;

function font(name) {
  if (name.includes('roboto')) return '@fontsource/roboto-mono/files/roboto-mono-latin-400-normal.woff2';
  return `@fontsource/inter/files/inter-latin-${name.includes('Medium') ? 500 : 400}-normal.woff2`;
}

function fileOf(name) {
  if (name === '/dashboard.json') return file;
  if (name.startsWith('/public/img/')) return path.join(modules, '@grafana/ui/dist', name);
  if (name.startsWith('/public/fonts/')) return path.join(modules, font(name));
  return path.join(root, name);
}

async function answer(request, reply) {
  const name = new URL(request.url, 'http://localhost').pathname;
  if (name === '/') {
    reply.setHeader('content-type', 'text/html');
    return reply.end(page);
  }
  if (name.startsWith('/api/')) {
    const failed = (error) => JSON.stringify({ status: 'error', error: String(error) });
    reply.setHeader('content-type', 'application/json');
    return reply.end(await fetch(prometheus + request.url).then((r) => r.text(), failed));
  }
  const found = fileOf(name);
  if (!fs.existsSync(found)) {
    reply.statusCode = 404;
    return reply.end();
  }
  reply.setHeader('content-type', types[path.extname(found)] ?? 'application/octet-stream');
  return reply.end(fs.readFileSync(found));
}

function address(port, theme) {
  const query = new URLSearchParams({ theme });
  for (const value of values) {
    const at = value.indexOf('=');
    const name = value.slice(0, at);
    query.set(['from', 'to'].includes(name) ? name : `var-${name}`, value.slice(at + 1));
  }
  return `http://127.0.0.1:${port}/?${query}`;
}

// What went wrong, a line each.
async function draw(browser, port, theme) {
  const tab = await browser.newPage({ viewport: { width, height: height || 900 } });
  const said = [];
  tab.on('pageerror', (error) => said.push(`page: ${error.message}`));
  await tab.goto(address(port, theme));
  await tab.waitForFunction(() => window.__ready, null, { timeout: 60000 }).catch((e) => said.push(String(e)));
  said.push(...(await tab.evaluate(() => window.__errors ?? [])).map((e) => `panel ${e.split('\n')[0]}`));
  const empty = await tab.evaluate(() =>
    [...document.querySelectorAll('[data-panel]')]
      .filter((panel) => /No data|not drawn/.test(panel.textContent))
      .map((panel) => `panel ${panel.dataset.panel}: ${panel.textContent.slice(0, 80)}`),
  );
  await tab.screenshot({ path: `${out}-${theme}.png`, fullPage: !height });
  await tab.close();
  return [...new Set([...said, ...empty])];
}

const server = http.createServer(answer);
await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'], // it runs as root, too
});
let failures = 0;
for (const theme of ['dark', 'light']) {
  for (const line of await draw(browser, server.address().port, theme)) {
    console.error(`${path.basename(file)}, ${theme}: ${line}`);
    failures += 1;
  }
}
await browser.close();
server.close();
process.exit(failures ? 1 : 0);
