import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.module.blackbird.BlackbirdModule;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;

/**
 * The fan-out of orders' events as an application of Kafka Streams, exactly once: each event becomes a push for each device that is
 * subscribed to its place. Of the rules it has what the benchmark's events need, and writes the same records as Carillon for them.
 *
 * <p>{@code FanOut BOOTSTRAP GROUP INPUT TABLE OUTPUT THREADS COMMIT_INTERVAL_MS STATE_DIR}, until SIGTERM.
 */
public final class FanOut {
    private static final String SUBSCRIPTIONS = "subscriptions";
    private static final ObjectMapper JSON =
            new ObjectMapper()
                    .registerModule(new BlackbirdModule())
                    .configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);

    /** What a device's subscription says of it. */
    record Device(String token, String platform) {}

    public static void main(String[] arguments) throws InterruptedException {
        KafkaStreams streams = new KafkaStreams(topology(arguments[2], arguments[3], arguments[4]).build(), settings(arguments));
        CountDownLatch ended = new CountDownLatch(1);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            streams.close();
            ended.countDown();
        }));
        streams.start();
        ended.await();
    }

    private static StreamsBuilder topology(String input, String table, String output) {
        StreamsBuilder builder = new StreamsBuilder();
        Serde<Device> devices = Serdes.serdeFrom((topic, device) -> write(device), (topic, bytes) -> read(bytes, Device.class));
        builder.globalTable(
                table,
                Consumed.with(Serdes.String(), devices),
                Materialized.<String, Device>as(Stores.inMemoryKeyValueStore(SUBSCRIPTIONS))
                        .withKeySerde(Serdes.String())
                        .withValueSerde(devices));
        builder.stream(input, Consumed.with(Serdes.String(), Serdes.ByteArray()))
                .process(Pushes::new)
                .to(output, Produced.with(Serdes.String(), Serdes.ByteArray()));
        return builder;
    }

    private static Properties settings(String[] arguments) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, arguments[5]);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, arguments[6]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[7]);
        // It waits no longer for events than a commit may.
        settings.put(StreamsConfig.POLL_MS_CONFIG, 10);
        settings.put(StreamsConfig.BUFFERED_RECORDS_PER_PARTITION_CONFIG, 5000);
        settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
        settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), 5000);
        settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG), 50);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.COMPRESSION_TYPE_CONFIG), "lz4");
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 20);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 256 << 10);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.BUFFER_MEMORY_CONFIG), 64 << 20);
        return settings;
    }

    private static <T> T read(byte[] bytes, Class<T> type) {
        try {
            return bytes == null ? null : JSON.readValue(bytes, type);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static byte[] write(Object value) {
        try {
            return JSON.writeValueAsBytes(value);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** One push for each device of an event's place. */
    private static final class Pushes extends ContextualProcessor<String, byte[], String, byte[]> {
        private final StringSerializer prefixes = new StringSerializer();
        private TimestampedKeyValueStore<String, Device> subscriptions;

        @Override
        public void init(org.apache.kafka.streams.processor.api.ProcessorContext<String, byte[]> context) {
            super.init(context);
            subscriptions = context.getStateStore(SUBSCRIPTIONS);
        }

        @Override
        public void process(Record<String, byte[]> record) {
            OrderEvent event = read(record.value(), OrderEvent.class);
            Push push = Push.of(event, JSON);
            RecordMetadata from = context().recordMetadata().orElseThrow();
            byte[] source = bytes(from.topic() + "/" + from.partition() + "/" + from.offset());
            byte[] id = bytes(push.messageId()), expiresAt = bytes(Long.toString(push.expiresAt()));
            String audience = "place/" + event.order().place_id();
            try (var found = subscriptions.prefixScan(audience + "|", prefixes)) {
                while (found.hasNext()) {
                    var each = found.next();
                    Device device = each.value.value();
                    RecordHeaders headers = new RecordHeaders();
                    headers.add("message-id", id);
                    headers.add("platform", bytes(device.platform()));
                    headers.add("source", source);
                    headers.add("expires-at", expiresAt);
                    headers.add("audience", bytes(audience));
                    // After the audience a subscription's key has the token's SHA-256.
                    String key = each.key.substring(each.key.indexOf('|') + 1);
                    context().forward(new Record<>(key, message(device.token(), push.shared()), record.timestamp(), headers));
                }
            }
        }

        /** The token, and then what all devices share, which was written once. */
        private static byte[] message(String token, byte[] shared) {
            byte[] written = write(token);
            ByteArrayOutputStream message = new ByteArrayOutputStream(shared.length + written.length + 32);
            message.writeBytes(BEFORE_TOKEN);
            message.writeBytes(written);
            message.write(',');
            message.write(shared, 1, shared.length - 1);
            message.write('}');
            return message.toByteArray();
        }

        private static final byte[] BEFORE_TOKEN = bytes("{\"message\":{\"token\":");

        private static byte[] bytes(String text) {
            return text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
        }
    }
}
