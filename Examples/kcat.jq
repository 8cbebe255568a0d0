# Turns records, as `carillon render` and `kcat -J` print them, into kcat commands that write them: key, value and headers,
# byte for byte. kcat takes headers as arguments, so each record needs its own process.
#
#   carillon render … events.jsonl | jq -r --arg kcat 'kcat -F cluster.properties' -f Examples/kcat.jq | sh
#
# The topic is that of the record; the partition is the one that a Java client would choose.

def bytes(part): "printf %s \(.[part + "_base64"] // (.[part] // "" | @base64) | @sh) | base64 -d";

select(.topic) |                                        # skips the --explain lines of events that notify nobody
(if .headers_base64 then error("headers that are not UTF-8 cannot be given to kcat, of key \(.key)") else .headers // [] end) as $headers |
"{ \(bytes("key")); printf ::key::; \(bytes("payload")); } |"
    + " \($kcat) -q -P -t \(.topic | @sh) -X partitioner=murmur2_random -K ::key:: -D ::end::"
    + (if [.key // .key_base64, .payload // .payload_base64] | all then "" else " -Z" end)      # empty is null
    + ([range(0; $headers | length; 2) | " -H " + ($headers[.:. + 2] | map(strings) | join("=") | @sh)] | join(""))
