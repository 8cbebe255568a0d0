import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.Locale;

/**
 * A push of an order's event, without the device.
 *
 * @param expiresAt milliseconds since 1970
 * @param shared a JSON object: all members of an FCM message but the token
 */
record Push(String messageId, long expiresAt, byte[] shared) {
    private static final long LIFETIME_SECONDS = 3600;
    private static final long IDS = 101_559_956_668_416L; // 36^9

    /** Members in the order of a payload. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    private record Payload(
            String message_id,
            String order_id,
            String parent_order_id,
            String visible_id,
            String event_type,
            String delivery_date,
            String start_time,
            String end_time,
            String place_id,
            String previous_status,
            String new_status,
            String order_number) {}

    private record Default(Payload data) {}

    static Push of(OrderEvent event, ObjectMapper json) {
        OrderEvent.Order order = event.order();
        OrderEvent.Delivery delivery = event.delivery();
        String type = "event_" + event.event_type().toLowerCase(Locale.ROOT);
        boolean isChange = event.new_status() != null;
        long time = Instant.parse(event.occurred_at()).toEpochMilli();
        long expiresAt = time + LIFETIME_SECONDS * 1000;
        String id = messageId(time, event.event_id(), type, order.id());
        Payload payload = new Payload(
                id,
                order.id(),
                order.id(),
                order.order_number(),
                type,
                delivery.date(),
                delivery.start(),
                delivery.end(),
                order.place_id(),
                event.previous_status(),
                event.new_status(),
                isChange ? order.order_number() : null);
        try {
            ObjectNode shared = json.createObjectNode();
            shared.putObject("data").put("default", json.writeValueAsString(new Default(payload)));
            shared.putObject("android").put("priority", "high").put("ttl", LIFETIME_SECONDS + "s");
            ObjectNode apns = shared.putObject("apns");
            apns.putObject("headers")
                    .put("apns-push-type", "background")
                    .put("apns-priority", "5")
                    .put("apns-expiration", Long.toString(expiresAt / 1000));
            apns.putObject("payload").putObject("aps").put("content-available", 1);
            return new Push(id, expiresAt, json.writeValueAsBytes(shared));
        } catch (JsonProcessingException error) {
            throw new IllegalStateException(error);
        }
    }

    /** As docs/rules.md, §6, says. */
    private static String messageId(long time, String eventId, String type, String orderId) {
        byte[] input = String.join("\u001f", "v1", "event", eventId, type, orderId).getBytes(StandardCharsets.UTF_8);
        try {
            long first = ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(input)).getLong();
            String digits = Long.toString(Long.remainderUnsigned(first, IDS), 36);
            return "msg-" + time + "-" + "0".repeat(9 - digits.length()) + digits;
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }
}
