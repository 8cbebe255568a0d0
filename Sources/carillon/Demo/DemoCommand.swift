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
        Terminal.complain("A Kafka in this program, five daemons, and stand-ins of FCM and APNs start …\n")
        let services = try DemoServices(demo, stop)
        try await services.untilReady()
        let story = DemoStory(demo: demo, services: services, phones: phones)
        try await story.tell()
        if verbose { for line in try story.records() { Terminal.write(line + "\n") } }
        if stay {
            phones.goLive()
            Terminal.write(try Self.invitation(demo, services.api))
            await stop.wait()
            Terminal.tell("drains and ends")
        }
        try await services.end()
    }

    private static func invitation(_ demo: Demo, _ api: APIService) throws -> String {
        let (servers, topics) = (demo.cluster.bootstrapServers, demo.configuration.topics)
        let address = api.address.map(String.init(describing:)) ?? ""
        let user = try demo.shop.token(of: "fred")
        return """

            All of it stays up until Ctrl-C, with Kafka at \(servers). In another terminal, name the API, a key of the backend, and the token that it has signed for Fred:

            api=http://\(address) key=\(demo.apiKey.text) user=\(user)

            Fred's phone registers as his, and keeps the credential that it gets:

            secret=$(curl -sS -X PUT $api/v1/devices/freds-phone-0001 -H "Authorization: Bearer $user" --json '{"address":{"kind":"registration_token","value":"made-up-token-of-fred"},"app":"com.example.shop","person":"fred","audiences":["place/42"]}' | sed 's/.*"secret":"//; s/".*//')

            Order something, by an event in Kafka or over HTTP; what the phones show appears here:

            order=$(date +%s); echo '{"event_type":"ORDER_CREATED","order":{"id":"'$order'","order_number":"B-1","place_id":"42"}}' | kcat -b \(servers) -P -t \(topics.events) -k $order
            order=$(date +%s); curl -sS $api/v1/events -H "Authorization: Bearer $key" --json '{"event_type":"ORDER_CREATED","order":{"id":"'$order'","order_number":"B-2","place_id":"42"}}'

            Fred opens it, and his phone says so; the backend asks what became of the order:

            message=$(curl -sS "$api/v1/explain?order=$order" -H "Authorization: Bearer $key" | grep -o 'msg-[^"]*' | head -1)
            curl -sS $api/v1/receipts -H "Authorization: Device freds-phone-0001:$secret" --json '{"receipts":[{"message_id":"'$message'","kind":"opened","at":"'$(date -u +%FT%TZ)'"}]}'
            curl -sS "$api/v1/explain?order=$order" -H "Authorization: Bearer $key"

            He logs out, and the next order does not reach his phone:

            curl -sS -X DELETE $api/v1/devices/freds-phone-0001/person -H "Authorization: Device freds-phone-0001:$secret"

            Carla's phone is subscribed to user/carla. A backend notifies her; sent again, it changes nothing:

            curl -sS -X PUT $api/v1/requests/bill-1 -H "Authorization: Bearer $key" --json '{"audience":"user/carla","app":{"title":"New bill","body":"23.40 €","data":{"type":"NewBill","bill_id":"B-1"}}}'

            This cluster lives in the memory of this program, and proves nothing about exactly-once: real brokers do.

            """
    }
}
