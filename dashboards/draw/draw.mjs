// Draws a dashboard, dark and light:
//
//   node draw.mjs BOARDS_FOLDER NAME OUT_PREFIX [QUERY]     as in: node draw.mjs .. iocs /tmp/iocs 'from=now-1h&var-ioc=vac'
//
// Environment: as for browser.mjs; WIDTH (1400), HEIGHT (all of it). Writes OUT_PREFIX-dark.png and OUT_PREFIX-light.png;
// exits 1 when a panel fails or shows no data.
import { Browser } from './browser.mjs';

const [boards, name, out, query = ''] = process.argv.slice(2);
if (!out) {
  console.error('usage: node draw.mjs BOARDS_FOLDER NAME OUT_PREFIX [QUERY]');
  process.exit(2);
}
const width = Number(process.env.WIDTH ?? 1400);
const height = Number(process.env.HEIGHT ?? 0);
const browser = await Browser.start(boards);
let failed = false;
for (const theme of (process.env.THEMES ?? 'dark light').split(' ')) {
  await browser.open(`/d/ioc-exporter-${name}?${query}`, { width, height: height || 900, theme });
  await browser.picture(`${out}-${theme}.png`, !height);
  for (const line of await browser.problems()) {
    console.error(`${name}, ${theme}: ${line}`);
    failed = true;
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
