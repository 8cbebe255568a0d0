import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** Subscribes a device to an audience, and unsubscribes it: the records that Carillon reads. */
public class Subscriptions {
    private static final String TOPIC =
            System.getenv().getOrDefault("SUBSCRIPTIONS_TOPIC", "notifications.subscriptions");

    private final Producer<String, String> producer;

    /** The producer's partitioner must be the default one, which uses murmur2 of the key. */
    public Subscriptions(Producer<String, String> producer) {
        this.producer = producer;
    }

    public void register(String audience, String platform, String app, String token) throws Exception {
        // A service would use its JSON library.
        String value = "{\"audience\":%s,\"token\":%s,\"platform\":%s,\"app\":%s,\"last_seen_at\":%s}".formatted(
                quoted(audience), quoted(token), quoted(platform), quoted(app), quoted(Instant.now().toString()));
        producer.send(new ProducerRecord<>(TOPIC, key(audience, token), value)).get();
    }

    public void unregister(String audience, String token) throws Exception {
        producer.send(new ProducerRecord<>(TOPIC, key(audience, token), null)).get();
    }

    private static String key(String audience, String token) throws GeneralSecurityException {
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
        return audience + "|" + HexFormat.of().formatHex(hash);
    }

    private static String quoted(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }

    public static void main(String[] arguments) throws Exception {
        boolean registers = arguments.length == 5 && arguments[1].equals("register");
        if (!registers && !(arguments.length == 3 && arguments[1].equals("unregister"))) {
            System.err.println(
                    "usage: Subscriptions BOOTSTRAP register AUDIENCE PLATFORM APP | unregister AUDIENCE  < token");
            System.exit(64);
        }
        String token = new String(System.in.readAllBytes(), StandardCharsets.UTF_8).strip();
        Map<String, Object> settings = Map.of("bootstrap.servers", arguments[0]);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            Subscriptions subscriptions = new Subscriptions(producer);
            if (registers) {
                subscriptions.register(arguments[2], arguments[3], arguments[4], token);
            } else {
                subscriptions.unregister(arguments[2], token);
            }
        }
    }
}
