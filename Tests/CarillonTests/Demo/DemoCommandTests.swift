import Foundation
import TestSupport
import Testing

@testable import carillon

@Suite("carillon demo") struct DemoCommandTests {
    @Test("the story fits on two screens, runs in any folder, and each act has what it says")
    func story() throws {
        let result = try CommandProcess.run(["demo"])
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines.count <= 48)
        func count(_ text: String) -> Int { lines.count { $0.contains(text) } }
        // A time slot's clock, two phones.
        #expect(count(#"shows "New order A-17: Wanted from 14:00 to 16:00.""#) == 2)
        // The busy provider, and the same push again.
        #expect(count("Anna (Android): FCM answers 503 UNAVAILABLE") == 1)
        #expect(count(#"Anna (Android): shows "Order A-17: Ready to be collected.""#) == 1)
        #expect(count("A lost phone (iPhone): APNs answers 410 Unregistered") == 1)
        #expect(
            count(#"shows "On its way: Tap to track it."; a tap opens https://shop.example/orders/4711"#) == 1)
        // A broadcast, and whom it reaches later.
        #expect(count(#"Carla (Android): shows "Back at noon: "#) == 1)
        #expect(count(#"Dora (iPhone): shows "Zurück um zwölf: "#) == 1)
        #expect(count("dead letter  invalid_json  orders.events/0/3: ") == 1)
        #expect(count("order_status_changed of order 4711 at place 42: sent to 2 devices") == 1)
        #expect(lines.contains { $0.contains("accepted by fcm (200), 2 requests from ") })
        // A phone that registers over HTTP, and what its user did with the push.
        #expect(count("PUT /v1/devices/emils-phone-0001: 201") == 1)
        #expect(count("POST /v1/events: 202") == 1)
        #expect(count(#"Emil (Android): shows "New order A-19: Wanted from 14:00 to 16:00.""#) == 1)
        #expect(count("POST /v1/receipts: 202") == 1)
        #expect(lines.contains { $0.contains("outcomes [{") && $0.contains(#""outcome":"accepted""#) })
        #expect(lines.contains { $0.contains("receipts [{") && $0.contains(#""kind":"opened""#) })
        #expect(count("9 pushes, each with one outcome: 8 accepted, 1 dead_device.") == 1)
        // Tokens are in no output.
        #expect(!(result.output + result.errors).contains("made-up-token"))
    }

    @Test("with --stay the printed lines work, SIGTERM ends it with 0, and its folder is gone")
    func stays() throws {
        let folder = TemporaryFolder()
        // Runs what is printed, as a person does, and waits for the phone.
        let script = """
            mkdir -p "$0/tmp"; cd "$0"
            TMPDIR="$0/tmp" "$CARILLON" demo --stay --verbose > told & demo=$!
            trap 'kill $demo; exit 1' TERM
            until grep -q 'proves nothing' told; do sleep 0.05; done
            ls tmp | grep -c carillon-demo
            grep '^push ' told | wc -l
            run() { eval "$(grep "$1" told | sed 's/^curl /curl -w "%{http_code}\\n" /')"; }
            run '^api='; run '^secret='; echo "${#secret} characters"
            eval "$(grep '^order=.*kcat' told | sed 's/kcat -b .*/cat/; s/order=$(date +%s)/order=1/')"
            shown() {
                for try in $(seq 60); do
                    run '^message='
                    [ -n "$message" ] && grep "^phone 69f22d16 .*B-2.*$message" told && return 0
                    sleep 0.05
                done
                return 1
            }
            # The table may not know of the phone yet: then it does of the next order.
            until run '^order=.*curl' && shown; do :; done
            run '^curl .*receipts'
            until run '^curl .*explain' > told-why && grep -o '"kind":"opened"' told-why; do sleep 0.05; done
            run '^curl .*DELETE'
            run '^curl .*bill-1'
            until grep 'shows "New bill: 23.40 €"' told; do sleep 0.05; done
            kill $demo; wait $demo; echo "ended $?"
            ls tmp | wc -l
            """
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let carillon = try CommandProcess.executable().path
        let result = try CommandProcess.run(
            ["stand-in", "--", "timeout", "240", "sh", "-c", script, folder.path], environment: ["CARILLON": carillon])
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(lines.first == "1")
        #expect(lines.dropFirst().first == "9")
        #expect(lines.contains("43 characters"))
        #expect(lines.contains { $0.hasPrefix("{\"positions\":[\"orders.events/0/") })
        #expect(lines.contains { $0.contains("phone 69f22d16 (fcm) ") })
        #expect(lines.contains(#"{"recorded":1,"repeated":0}202"#))
        #expect(lines.contains(#""kind":"opened""#))
        #expect(lines.contains("204"))
        #expect(
            lines.contains(#"{"event_type":"ORDER_CREATED","order":{"id":"1","order_number":"B-1","place_id":"42"}}"#))
        #expect(lines.contains { $0.hasPrefix(#"{"request_id":"bill-1""#) && $0.hasSuffix("}202") })
        #expect(lines.suffix(3).first?.contains(#"shows "New bill: 23.40 €""#) == true)
        #expect(lines.suffix(2) == ["ended 0", "0"])
    }
}
