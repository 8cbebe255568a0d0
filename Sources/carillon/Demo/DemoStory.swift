import KafkaClient
import NotificationPayload
import Notifications
import ProviderStandIn
import Replay

/// The acts of the demo: what is written to Kafka, and what the phones show of it.
struct DemoStory {
    let demo: Demo
    let services: DemoServices
    let phones: DemoPhones

    private var topics: PipelineConfiguration.Topics { demo.configuration.topics }

    func tell() async throws {
        let samples = DemoSamples.self
        heading("1", "A customer orders at place 42. The two phones of its staff are subscribed to the place.")
        try demo.write([samples.created], to: topics.events)
        try await told(2)

        heading("2", "The order is picked. FCM is too busy for Anna's push: the sender tries again a second later.")
        demo.providers.fcm.set(.unavailable(nil), for: samples.anna.subscription.token, times: 1)
        try demo.write([samples.picked], to: topics.events)
        let picked = try await told(3)

        heading("3", "An order at place 7. Its only phone is lost: nothing more is sent to it once it is unsubscribed.")
        demo.providers.apns.set(.unregistered(at: WallClock.now.milliseconds), for: samples.lost.subscription.token)
        try demo.write([samples.elsewhere], to: topics.events)
        try await told(1)

        heading("4", "Another service asks for a notification of one customer.")
        try demo.write([samples.onItsWay], to: topics.requests)
        try await told(1)

        heading("5", "A broadcast goes to a channel, and to Dora, who joins while it is valid: in her language.")
        try demo.write([samples.news], to: topics.broadcasts)
        try await told(1)
        try demo.write([samples.dora.record()], to: topics.subscriptions)
        try await told(1)

        heading("6", "An event is cut off. It becomes a dead letter with its reason, and stops nothing.")
        let letters = services.pipeline.meter.reading.counts.deadLetters
        try demo.write([samples.broken], to: topics.events)
        try await services.wait("the dead letter") { services.pipeline.meter.reading.counts.deadLetters > letters }
        for letter in try demo.read(topics.deadLetters) { say("   " + DemoLines.deadLetter(letter)) }

        heading("7", "Over HTTP: Emil's phone registers as its user, an order is posted, and Emil opens the push.")
        try await emilOpens()

        let outcomes = try await allOutcomes()
        let again = picked.last { $0.record.tokenHash == samples.anna.hash }?.push.messageID ?? ""
        heading("8", "Why did Anna get \"Ready to be collected\", and when? carillon explain --message-id \(again)")
        try await explain(again)
        say("")
        say(summary(outcomes))
    }

    /// The whole chain over HTTP: a phone registers, gets a push, and says that it was opened; the backend sees it.
    private func emilOpens() async throws {
        guard let address = services.api.address else { throw CommandFailure(.defect, "demo: the API has no address") }
        let (api, phone) = (DemoAPI(address: address), "emils-phone-0001")
        let (user, backend) = ("Bearer \(try demo.shop.token(of: "emil"))", "Bearer \(demo.apiKey.text)")
        let device = try api.ask("PUT", "/v1/devices/\(phone)", by: user, DemoSamples.emilsDevice, expects: 201)
        let hasTable = services.pipeline.askForTable()
        try await services.wait("the table of subscriptions", until: hasTable)
        _ = try api.ask("POST", "/v1/events", by: backend, DemoSamples.posted, expects: 202)
        let push = try await told(1).first?.push.messageID ?? ""
        _ = try await allOutcomes()
        let receipt = #"{"message_id":"\#(push)","kind":"opened","at":"\#(WallClock.now.iso8601)"}"#
        _ = try api.ask(
            "POST", "/v1/receipts", by: "Device \(phone):\(device["secret"]?.string ?? "")",
            #"{"receipts":[\#(receipt)]}"#, expects: 202)
        let told = try api.ask("GET", "/v1/explain?order=4714", by: backend, expects: 200)
        for push in told["explanations"]?.array?.first?["pushes"]?.array ?? [] {
            for name in ["outcomes", "receipts"] { say("     \(name) \(push[name]?.json ?? "?")") }
        }
    }

    /// Every record that the daemons wrote, a line each.
    func records() throws -> [String] {
        let pushes = try demo.read(topics.dispatch) + demo.read(topics.broadcastDispatch)
        let outcomes = try demo.read(topics.deliveries).compactMap { DemoLines.outcome($0) }
        return try [""] + pushes.map(DemoLines.push) + demo.read(topics.deadLetters).map(DemoLines.deadLetter)
            + outcomes.map(DemoLines.text)
    }

    private func heading(_ number: String, _ text: String) {
        say("\n\(number). \(text)")
    }

    private func say(_ line: String) { Terminal.write(line + "\n") }

    /// Prints the next requests of the providers, in the order of the phones.
    @discardableResult
    private func told(_ count: Int) async throws -> [DemoPhones.Request] {
        try await services.wait("the phones") { phones.count >= count }
        let requests = phones.take()
        let order = DemoSamples.phones.map(\.hash)
        func rank(_ request: DemoPhones.Request) -> Int { order.firstIndex(of: request.record.tokenHash) ?? 0 }
        for request in requests.enumerated().sorted(by: {
            (rank($0.element), $0.offset) < (rank($1.element), $1.offset)
        }) {
            say(request.element.line)
        }
        return requests
    }

    /// The outcome of each push, once all have one.
    private func allOutcomes() async throws -> [DeliveryRecord] {
        let pushes = try demo.read(topics.dispatch).count + demo.read(topics.broadcastDispatch).count
        try await services.wait("the outcomes") { services.sender.meter.reading.outcomes >= pushes }
        return try demo.read(topics.deliveries).compactMap { DemoLines.outcome($0) }
    }

    private func explain(_ messageID: String) async throws {
        var request = ReplayRequest()
        request.view = .asOfEvent
        let context = ReplayContext(
            configuration: demo.configuration, scratch: try Scratch(), now: WallClock.now,
            logger: demo.configuration.clientSink,
            isStopped: { [services] in services.mustEnd })
        var session = try ReplaySession(context, request)
        try session.prepare()
        let explanations = try session.explain(.message(id: messageID))
        guard let first = explanations.first else { throw CommandFailure(.defect, "demo: explain found nothing") }
        let text = ExplanationReport(first, topics, demo.configuration.deepLinks).text
        for line in text.split(separator: "\n") { say("   \(line)") }
    }

    /// `7 pushes, each with one outcome: 6 accepted, 1 dead_device.`
    private func summary(_ outcomes: [DeliveryRecord]) -> String {
        let counts = DeliveryOutcome.allCases.compactMap { outcome in
            let count = outcomes.count { $0.outcome == outcome }
            return count == 0 ? nil : "\(count) \(outcome.rawValue)"
        }
        return "\(outcomes.count) pushes, each with one outcome: \(counts.joined(separator: ", "))."
    }
}
