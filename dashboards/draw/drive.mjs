// A browser for the tests: a command a line on stdin, as in ["open", "/d/ioc-exporter-iocs?var-ioc=vac"], and its answer,
// {"result": …} or {"error": …}, on stdout. The commands are the methods of Browser.
//
//   node drive.mjs BOARDS_FOLDER
import readline from 'node:readline';
import { Browser } from './browser.mjs';

const browser = await Browser.start(process.argv[2]);
for await (const line of readline.createInterface({ input: process.stdin })) {
  const [command, ...words] = JSON.parse(line);
  const answer = await browser[command](...words).then(
    (result) => ({ result: result ?? null }),
    (error) => ({ error: String(error) }),
  );
  console.log(JSON.stringify(answer));
}
await browser.close();
