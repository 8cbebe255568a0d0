// Subscribes a device to an audience, and unsubscribes it: the records that Carillon reads.
// Needs `npm install @confluentinc/kafka-javascript`.
import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import KafkaJavascript from '@confluentinc/kafka-javascript';

const { Kafka } = KafkaJavascript.KafkaJS;
const topic = process.env.SUBSCRIPTIONS_TOPIC ?? 'notifications.subscriptions';

// librdkafka's default partitioner is another one, and Carillon would skip its records.
function makeProducer(bootstrap) {
  return new Kafka().producer({ 'bootstrap.servers': bootstrap, partitioner: 'murmur2_random' });
}

async function register(producer, audience, platform, app, token) {
  const subscription = { audience, token, platform, app, last_seen_at: new Date().toISOString() };
  await write(producer, audience, token, JSON.stringify(subscription));
}

async function unregister(producer, audience, token) {
  await write(producer, audience, token, null);
}

async function write(producer, audience, token, value) {
  const key = `${audience}|${createHash('sha256').update(token).digest('hex')}`;
  await producer.send({ topic, messages: [{ key, value }] });
}

const [bootstrap, verb, audience, platform, app] = process.argv.slice(2);
if (!(verb === 'register' && app) && !(verb === 'unregister' && audience)) {
  console.error('usage: subscriptions.mjs BOOTSTRAP register AUDIENCE PLATFORM APP | unregister AUDIENCE  < token');
  process.exit(64);
}
const token = (await text(process.stdin)).trim();
const producer = makeProducer(bootstrap);
await producer.connect();
try {
  if (verb === 'register') {
    await register(producer, audience, platform, app, token);
  } else {
    await unregister(producer, audience, token);
  }
} finally {
  await producer.disconnect();
}
