import Foundation
import TestSupport
import Testing

@Suite("carillon demo") struct DemoCommandTests {
    @Test("the demo sends orders, an app notification, and a message with a deep link, each to its devices")
    func demo() throws {
        let result = try CommandProcess.run([
            "demo", "--events", Page("Examples/events.jsonl").path,
            "--subscriptions", Page("Examples/subscriptions.jsonl").path,
            "--requests", Page("Examples/demo-requests.jsonl").path,
            "--broadcast", Page("Examples/demo-broadcast.json").path,
        ])
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.output.split(separator: "\n")
        func count(_ text: String) -> Int { lines.filter { $0.hasPrefix("push  ") && $0.hasSuffix(text) }.count }
        #expect(count(#"  app NewBill  "New bill: 23.40 € at the North Shop""#) == 2)
        let link = "opens https://shop.example/orders/12345"
        #expect(count(#"  message  "On its way: Tap to track your order"  "# + link) == 2)
        #expect(count("  order_created  order ORDER-20250707-1021 at place 1ee68c4e  2025-07-07 14:00–16:00") == 3)
        // Two devices of the channel, and one that joined when the broadcast had been sent.
        #expect(count(#"  broadcast maintenance-7  "Back at noon: Orders are taken again at noon."  in en, de"#) == 3)
        #expect(lines.contains { $0.hasPrefix("25 events and 2 requests gave 24 notifications and 61 pushes; ") })
    }

    @Test("with --deliver each push is an HTTP/2 request and has one outcome, over a busy provider and a dead device")
    func delivers() throws {
        let result = try CommandProcess.run([
            "demo", "--deliver", "--events", Page("Examples/events.jsonl").path,
            "--subscriptions", Page("Examples/subscriptions.jsonl").path,
            "--requests", Page("Examples/demo-requests.jsonl").path,
        ])
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.output.split(separator: "\n")
        let pushes = lines.count { $0.hasPrefix("push  ") }
        let outcomes = lines.filter { $0.hasPrefix("outcome  ") }
        #expect(pushes > 0 && outcomes.count == pushes)
        #expect(outcomes.contains { $0.contains("apns") && $0.contains("dead_device  410  Unregistered") })
        #expect(outcomes.contains { $0.contains("fcm") && $0.hasSuffix("accepted  200  after 2 requests") })
        let requests = lines.filter { $0.hasPrefix("request  ") }
        #expect(requests.contains { $0.hasSuffix("answer 503 UNAVAILABLE") })
        // The busy provider was asked twice.
        #expect(requests.count == pushes + 1)
    }
}
