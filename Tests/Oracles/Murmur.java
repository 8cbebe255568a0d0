import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HexFormat;
import org.apache.kafka.common.utils.Utils;

/** Keys in hexadecimal, a line each, in; Kafka's own hash of each, out. A file of one source: `java -cp "$KAFKA_HOME/libs/*" Murmur.java`. */
class Murmur {
    public static void main(String[] arguments) throws Exception {
        BufferedReader keys = new BufferedReader(new InputStreamReader(System.in));
        for (String key; (key = keys.readLine()) != null;) {
            System.out.println(Utils.murmur2(HexFormat.of().parseHex(key)));
        }
    }
}
