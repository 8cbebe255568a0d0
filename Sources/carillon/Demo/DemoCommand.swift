import API
import Arguments
import Foundation

/// `carillon demo`
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "See the whole of it in a few seconds: orders, phones, outcomes, and why, on a Kafka of its own.",
        discussion: """
            Real consumers, real producers and the real protocol, on librdkafka's in-process mock cluster, and stand-ins \
            of FCM and APNs on loopback. It shows what Carillon does; it cannot show exactly-once, since the mock's \
            transactions isolate nothing. For events of your own see 'carillon render'.
            """,
        examples: [
            ("carillon demo", "The story."),
            ("carillon demo --stay", "The story; then everything stays up, to be played with."),
        ])

    @Flag(help: "Keep all of it running until SIGINT or SIGTERM, and say how to write to it.") var stay: Bool
    @Flag(help: "Show the daemons' own log, and at the end every record that they wrote.") var verbose: Bool

    func run() async throws {
        let folder = try PrivateFolder("carillon-demo")
        defer { folder.remove() }
        let stop = StopFlag()
        let signals = Signals(
            first: { stop.set() },
            again: {
                folder.remove()
                exit(ExitCode.notInTime.rawValue)
            })
        defer { signals.cancel() }
        let demo = try Demo(folder: folder, logLevel: verbose ? .info : .error)
        defer { demo.providers.stop() }
        let phones = DemoPhones()
        demo.providers.observe { provider, record, _ in phones.add(provider, record) }
        try demo.write(DemoSamples.subscriptions, to: demo.configuration.topics.subscriptions)
        Terminal.complain("A Kafka in this program, four daemons, and stand-ins of FCM and APNs start …\n")
        let services = try DemoServices(demo, stop)
        try await services.untilReady()
        let story = DemoStory(demo: demo, services: services, phones: phones)
        try await story.tell()
        if verbose { for line in try story.records() { Terminal.write(line + "\n") } }
        if stay {
            phones.goLive()
            Terminal.write(Self.invitation(demo, services.api))
            await stop.wait()
            Terminal.tell("drains and ends")
        }
        try await services.end()
    }

    private static func invitation(_ demo: Demo, _ api: APIService) -> String {
        let (servers, topics) = (demo.cluster.bootstrapServers, demo.configuration.topics)
        let address = api.address.map(String.init(describing:)) ?? ""
        return """

            All of it stays up until Ctrl-C, with Kafka at \(servers). In another terminal, subscribe a phone:

            echo a-made-up-token | carillon subscribe -b \(servers) --audience place/42 --platform fcm --app com.example.shop

            and order something; what the phones show appears here:

            order=$(date +%s); echo '{"event_type":"ORDER_CREATED","order":{"id":"'$order'","order_number":"B-1","place_id":"42"}}' | kcat -b \(servers) -P -t \(topics.events) -k $order

            Carla's phone is subscribed to user/carla. A backend notifies her over HTTP; sent again, it changes nothing:

            curl -X PUT http://\(address)/v1/requests/bill-1 -H 'Authorization: Bearer \(demo.apiKey.text)' -H 'Content-Type: application/json' -d '{"audience":"user/carla","app":{"title":"New bill","body":"23.40 €","data":{"type":"NewBill","bill_id":"B-1"}}}'

            This cluster lives in the memory of this program, and proves nothing about exactly-once: real brokers do.

            """
    }
}
