// Runs document 1's own JavaScript over pushes: a line of JSON `{"data": {…}}` each on standard input, as the app gets it.
// Writes a line each: what validateFCMPayload says, what parseReceivedFCMPayload gives, what the message handler and
// processStatusChange do with it, and whether JSON.stringify would have written the same `default` string.
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import vm from 'node:vm';
import { pathToFileURL } from 'node:url';

// The handler imports React Native's package by its name: a module of that name stands beside a copy of the handler.
const folder = process.argv[2];
const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
const stub = path.join(folder, 'node_modules', '@react-native-firebase', 'messaging');
fs.mkdirSync(stub, { recursive: true });
fs.writeFileSync(path.join(stub, 'package.json'), '{"type": "module", "exports": "./index.js"}');
fs.writeFileSync(path.join(stub, 'index.js'), `export default () => ({
  setBackgroundMessageHandler(handler) { globalThis.handleMessage = handler; },
});`);
fs.copyFileSync(path.join(here, 'message-handler.mjs'), path.join(folder, 'message-handler.mjs'));

for (const name of ['payload-validation.js', 'status-change.js', 'test-payload.js']) {
  vm.runInThisContext(fs.readFileSync(path.join(here, name), 'utf8'), { filename: name });
}

// What the document leaves to the app: here it is only noted down.
let calls = [];
const noted = (name) => async (...values) => { calls.push([name, ...values]); };
for (const name of ['processOrderCreated', 'processTimeslotStarted', 'processUnpickedReminder', 'updateOrderStatus', 'showNotification']) {
  globalThis[name] = noted(name);
}
console.warn = (...values) => { calls.push(['console.warn', ...values]); };
console.error = (...values) => { calls.push(['console.error', ...values.map(String)]); };
await import(pathToFileURL(path.join(folder, 'message-handler.mjs')).href);

function judged(work) {
  try {
    return work();
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
}

for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { data } = JSON.parse(line);
  calls = [];
  await handleMessage({ data });
  process.stdout.write(JSON.stringify({
    valid: judged(() => validateFCMPayload(data)),
    parsed: judged(() => parseReceivedFCMPayload(data)),
    same: judged(() => JSON.stringify(JSON.parse(data.default)) === data.default),
    calls,
  }) + '\n');
}
