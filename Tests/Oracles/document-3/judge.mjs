// Runs document 3's `switch`: a line of JSON `{"order_type", "order_id", "url"}` each on standard input; `url` is the one to judge.
// Writes a line each: the document's URL, and the order id that Node finds in the one to judge; null where there is none.
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import vm from 'node:vm';

const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
vm.runInThisContext(fs.readFileSync(path.join(here, 'deep-link.js'), 'utf8'), { filename: 'deep-link.js' });

for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { order_type: orderType, order_id: orderID, url } = JSON.parse(line);
  process.stdout.write(JSON.stringify({
    url: deepLink(orderType, orderID) ?? null,
    found: url === null ? null : new URL(url).searchParams.get('order_id'),
  }) + '\n');
}
