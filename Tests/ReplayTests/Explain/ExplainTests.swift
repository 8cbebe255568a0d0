import CarillonTesting
import Digests
import Notifications
import Pipeline
import TestSupport
import Testing

@testable import Replay

@Suite("Why it was sent, or not")
struct ExplainTests {
    private func explain(
        _ toy: borrowing ToyPipeline, _ subject: Explanation.Subject = .events, _ filter: FilterRules = FilterRules()
    ) throws -> [Explanation] {
        let run = try ReplayRun(toy)
        let index = try DispatchIndex(Scratch(), topics: ToyPipeline.topics)
        for (offset, record) in toy.pushes.enumerated() {
            try record.withDispatchRecord { record in
                try index.append(
                    record, at: Coordinates(partition: 0, offset: Int64(offset)))
            }
        }
        let sink = ExplainSink(
            subject, toy.configuration, index: index, refusals: Refusals(topics: ToyPipeline.topics),
            history: try run.history.makeReader(.asOfEvent))
        return try run.perform(toy, try run.plan(toy), filter: filter, into: sink).finish()
    }

    private func label(_ outcome: Explanation.Outcome?) -> String {
        switch outcome {
        case .sent: "sent"
        case .notSent(let reason): reason.label
        case .dropped(let drop): drop.label
        case .deadLetter(let letter): letter.code.label
        case .refused: "refused"
        case nil: "nothing"
        }
    }

    @Test("each event and timer once, with every reason, its transaction, and where its records stand")
    func everything() throws {
        let toy = try ToyPipeline.lived(seed: 8)
        let all = try explain(toy)
        let events = all.filter { !$0.isTimer }
        #expect(events.count == toy.logs.reduce(0) { $0 + $1.count })
        #expect(all.reduce(0) { $0 + $1.devices } == toy.pushes.count)
        for push in all.flatMap({ explanation in explanation.pushes.map { ($0, explanation) } }) {
            let position = try #require(push.0.positions.first)
            let record = toy.pushes[Int(position.offset)]
            #expect(
                record.header("message-id") == push.0.messageID
                    && String(decoding: record.key, as: UTF8.self) == push.0.device)
        }
        for explanation in all {
            let step = try #require(explanation.step)
            let isCovered =
                explanation.isTimer
                ? step.to == explanation.event.offset : (step.from..<step.to).contains(explanation.event.offset)
            #expect(isCovered && explanation.outcome != nil)
        }
        let labels = Set(all.map { label($0.outcome) })
        #expect(
            labels.isSuperset(of: [
                "sent", "duplicate", "not_a_transition", "no_subscriber", "unknown_type", "too_many_devices",
            ]), "\(labels)")
        let timers = Set(all.filter(\.isTimer).map { label($0.outcome) })
        #expect(timers.isSuperset(of: ["sent", "picked"]), "\(timers)")
        #expect(all.contains { $0.settled[.alreadyStarted] != nil } && all.contains { $0.settled[.ended] != nil })
        #expect(
            all.contains { $0.sources["time slot"] == "slot" } && all.contains { $0.sources["time slot"] == "state" })
    }

    @Test("a request is found by its id, by its message id, and a device by its audience")
    func requests() throws {
        let toy = try ToyPipeline.lived(seed: 8, requests: true)
        var both = FilterRules()
        both.types = ["app", "message"]
        let all = try explain(toy, .events, both)
        #expect(all.allSatisfy { $0.event.partition.source == .requests })
        #expect(all.count == toy.requests.reduce(0) { $0 + $1.count })
        let labels = Set(all.map { label($0.outcome) })
        #expect(labels.isSuperset(of: ["sent", "expired", "no_subscriber", "bad_request"]), "\(labels)")
        let asked = try #require(all.first { $0.outcome == .sent })
        for id in [asked.reading.requestID, asked.reading.messageID] {
            var filter = FilterRules()
            filter.requests = [try #require(id)]
            let found = try explain(toy, .events, filter)
            #expect(found.contains { $0.event == asked.event } && found.allSatisfy { !$0.isTimer })
            #expect(found.allSatisfy { [$0.reading.requestID, $0.reading.messageID].contains(id) }, "\(found)")
        }
        let push = try #require(asked.pushes.first)
        #expect(push.positions.count == 1)
        let device = try explain(toy, .device(tokenHash: push.device)).filter { $0.event == asked.event }
        #expect(device.map(\.subscribed) == [.yes])
        let message = try explain(toy, .message(id: push.messageID))
        #expect(message.contains { $0.event == asked.event })
    }

    @Test("a push is found by its message id, a device by its token, with its subscription as it was then")
    func subjects() throws {
        var toy = try ToyPipeline { $0.maxDevicesPerEvent = 100 }
        func order(_ number: Int, _ toy: inout ToyPipeline) throws {
            toy.pass(ToyPipeline.minute)
            let value = """
                {"event_id":"e\(number)","event_type":"ORDER_CREATED","order":{"id":"o\(number)","order_number":"N",\
                "place_id":"p1","status":"pending"}}
                """
            toy.append(SampleRecord(key: "o\(number)", value: value), to: 0)
            try toy.transact([1, 0, 0])
        }
        try toy.subscribe("other", to: "p1")
        try order(1, &toy)
        try toy.subscribe("device", to: "p1")
        try order(2, &toy)
        try toy.subscribe("device", to: "p1", app: nil)
        try order(3, &toy)
        try toy.subscribe("device", to: "p1", lastSeen: ToyPipeline.morning - 300 * 86_400_000)
        try order(4, &toy)
        let hash = SHA256.hex(of: "device")
        let states = try explain(toy, .device(tokenHash: hash)).map(\.subscribed)
        #expect(states.count == 4)
        guard states.count == 4 else { return }
        if case .notUntil = states[0] {} else { Issue.record("\(states)") }
        #expect(states[1] == .yes)
        if case .notSince = states[2] {} else { Issue.record("\(states)") }
        if case .stale = states[3] {} else { Issue.record("\(states)") }
        #expect(try explain(toy, .device(tokenHash: SHA256.hex(of: "nobody"))).isEmpty)
        let id = try #require(toy.pushes.last?.header("message-id"))
        let found = try explain(toy, .message(id: id))
        #expect(found.count == 1 && found.first?.order == "o4" && found.first?.pushes.count == 1)
    }
}
