import CarillonTesting
import Digests
import Foundation
import Notifications
import Pipeline
import TestSupport
import Testing

@testable import Replay
@testable import carillon

/// A reason that is missing in a `switch` below does not compile; one that no event or timer here produces fails.
@Suite("Each reason for which nobody was notified, as carillon explain tells it")
struct ReasonTests {
    private static let bound = 4

    @Test("of events: the sentence, and reason and message in the JSON")
    func events() throws {
        let told = try Told(Self.day())
        for reason in SuppressionReason.allCases {
            let sentence =
                switch reason {
                case .notATransition: "not_a_transition, the status was the same before"
                case .noSubscriber: "no_subscriber, nobody had subscribed to its audience"
                case .staleToken: "stale_token, no device of its audience was seen for subscriptions.max-age"
                case .noOrderIDs: "no_order_ids, the list is empty"
                case .duplicate: "duplicate, the order has had an event with this identity"
                case .scheduledHere: "scheduled_here, with schedule=on the pipeline sends it by the clock itself"
                case .expired: "expired, it expired before its transaction began"
                case .duplicateOtherContent:
                    "duplicate_other_content, a request with this id came in the 24 h before, with another content"
                }
            let found = told.all.filter {
                $0.explanation.outcome == .notSent(reason)
                    && (reason != .duplicate || $0.explanation.event.partition.source == .orders)
            }
            #expect(!found.isEmpty, "no event is \(reason.label)")
            for each in found {
                #expect(each.firstLine.hasSuffix(": not sent: \(sentence)"), "\(each.report.text)")
                #expect(each.json["outcome"] == "not_sent" && each.json["reason"] == reason.label, "\(each.json)")
                #expect(each.json["message"] == sentence && each.json["transaction"] != nil, "\(each.json)")
            }
        }
    }

    @Test("of timers: the sentence, when it is due or when an event cancels it")
    func timers() throws {
        let (told, full) = (try Told(Self.day()), try Told(Self.fullState()))
        for drop in TimerDrop.allCases {
            let (sentence, isSettledOnly) =
                switch drop {
                case .tooLate: ("too_late, the pipeline came to it later than schedule.max-lateness", false)
                case .alreadyStarted:
                    ("already_started, their time was over when the event that named the slot came", true)
                case .superseded: ("superseded, a later reminder of the order was due by then", false)
                case .picked: ("picked, the order was past picking", false)
                case .ended: ("ended, the order was cancelled, had failed or was done", true)
                case .noSlot: ("no_slot, the order has no time slot", true)
                case .noSubscriber: ("no_subscriber, nobody had subscribed to the place", false)
                case .staleToken: ("stale_token, no device of the place was seen for subscriptions.max-age", false)
                case .forgotten:
                    (
                        "forgotten, they were of orders that were forgotten: their partition exceeded state.max-bytes",
                        true
                    )
                }
            let dropped = told.all.filter { $0.explanation.outcome == .dropped(drop) }
            let settling = (told.all + full.all).filter { $0.explanation.settled[drop] != nil }
            #expect(isSettledOnly ? !settling.isEmpty : !dropped.isEmpty, "no timer is \(drop.label)")
            for each in dropped {
                #expect(each.firstLine.hasSuffix(": not sent: \(sentence)"), "\(each.report.text)")
                #expect(each.json["reason"] == drop.label && each.json["message"] == sentence, "\(each.json)")
                #expect(each.json["timer"] == "true" && each.report.text.contains("timer at     schedule/0/"))
            }
            for each in settling {
                let count = drop == .noSlot ? "none will go" : "\(each.explanation.settled[drop] ?? 0) will not go"
                #expect(each.report.text.contains("  timers       \(count): \(sentence)\n"), "\(each.report.text)")
                #expect(each.json["settled_timers"]?.contains("\"\(drop.label)\"") == true, "\(each.json)")
            }
        }
        let sent = told.all.filter { $0.explanation.isTimer && $0.explanation.outcome == .sent }
        let types = Set(sent.compactMap { $0.json["event_type"] })
        #expect(types == ["event_timeslot_started", "event_unpicked_orders_reminder"], "\(types)")
    }

    @Test("of dead letters: code and message; of what the broker refused where its dead letter stands")
    func deadLetters() throws {
        let toy = try Self.day()
        let refused = try #require(toy.logs[0].firstIndex { $0.key == "sent" })
        let refusal = [EventCoordinates(0, offset: Int64(refused)): "the broker refuses it: TOO_LARGE"]
        let told =
            try Told(toy, refusing: refusal).all
            + Told(toy, refusing: refusal, code: "transaction_timeout").all
        // A batch is unreadable to a Kafka client only.
        for code in DeadLetter.Code.allCases where code != .unreadableBatch {
            let found = told.filter {
                switch $0.explanation.outcome {
                case .deadLetter(let letter): letter.code == code
                case .refused(let refusal): refusal.code == code
                default: false
                }
            }
            #expect(!found.isEmpty, "no event is a dead letter, \(code.label)")
            for each in found {
                let message = try #require(each.json["message"])
                #expect(each.json["outcome"] == "dead_letter" && each.json["reason"] == code.label, "\(each.json)")
                if code.isOfBroker {
                    let sentence =
                        "not sent to 1 device: \(code.label), \(message); dead letter at notifications.dead-letters/1/7"
                    #expect(each.firstLine.hasSuffix(sentence) && message.contains("TOO_LARGE"), "\(each.report.text)")
                    #expect(each.json["dead_letter"] == "notifications.dead-letters/1/7")
                } else {
                    #expect(each.firstLine.hasSuffix("not sent: a dead letter, \(code.label): \(message)"))
                    let cure = "'carillon replay dead-letters --code \(code.label) --dry-run'"
                    #expect(each.explanation.isTimer || each.report.text.contains("  what to do   "))
                    #expect(each.explanation.isTimer || each.report.text.contains(cure))
                }
            }
        }
    }

    @Test("a dead letter is found by an id in its value and by its record's key, and its place is told")
    func deadLetterByOrder() throws {
        var found = try ToyPipeline()
        found.append(
            SampleRecord(key: "k1", value: #"{"event_type":"ORDER_CREATED","order":{"id":"placeless"}}"#), to: 0)
        found.append(SampleRecord(key: "k2", value: #"{"event_type":"NONSENSE","order":{"id":"x"}}"#), to: 0)
        found.append(SampleRecord(key: "torn", value: "no JSON"), to: 0)
        try found.transact([100, 0, 0])
        for (order, code, offset) in [
            ("placeless", "no_place", 0), ("x", "unknown_type", 1), ("torn", "invalid_json", 2),
            ("k2", "unknown_type", 1),
        ] {
            var rules = FilterRules()
            rules.orders = [order]
            let event = EventCoordinates(0, offset: Int64(offset))
            let told = try Told(found, refusing: [event: "m"], code: code, filter: rules).all
            #expect(told.count == 1, "\(order): \(told.map(\.report.text))")
            let json = told.first?.json ?? [:]
            #expect(json["reason"] == code && json["source"] == "orders.events/0/\(offset)", "\(json)")
            #expect(json["dead_letter"] == "notifications.dead-letters/1/7", "\(json)")
            #expect(told.first?.report.text.contains("  dead letter  notifications.dead-letters/1/7\n") == true)
        }
        var other = FilterRules()
        other.orders = ["nobody"]
        #expect(try Told(found, filter: other).all.isEmpty)
    }

    @Test("of requests: what became of each, by its id and its audience, and where it stands")
    func requests() throws {
        let told = try Told(Self.day())
        let requests = told.all.filter { $0.explanation.event.partition.source == .requests }
        let ids = requests.compactMap { $0.json["request_id"] }
        let expected = [
            ("sent", "sent to 1 device", "sent", nil),
            ("late", "not sent: expired, it expired before its transaction began", "not_sent", "expired"),
            ("alone", "not sent: no_subscriber, nobody had subscribed to its audience", "not_sent", "no_subscriber"),
            (
                "forgotten", "not sent: stale_token, no device of its audience was seen for subscriptions.max-age",
                "not_sent", "stale_token"
            ),
            ("sent", "not sent: duplicate, a request with this id came in the 24 h before", "not_sent", "duplicate"),
            (
                "sent",
                "not sent: duplicate_other_content, a request with this id came in the 24 h before, with another content",
                "not_sent", "duplicate_other_content"
            ),
            (
                "wrong",
                "not sent: a dead letter, bad_request: app.title is a number; allowed is a string that is not blank",
                "dead_letter", "bad_request"
            ),
            (
                "torn",
                "not sent: a dead letter, conflicting_value: app.data.action is \"added\"; the type FinoDisconnected has "
                    + "\"deleted\"", "dead_letter", "conflicting_value"
            ),
            (
                "new",
                "not sent: a dead letter, unknown_type: \"Novelty\" is no type of app notification, such as NewBill",
                "dead_letter", "unknown_type"
            ),
            (
                "crowd", "not sent: a dead letter, too_many_devices: ", "dead_letter", "too_many_devices"
            ),
        ]
        #expect(ids == expected.map(\.0))
        for ((id, sentence, outcome, reason), each) in zip(expected, requests) {
            let audience = id == "crowd" ? "place/crowd" : "user/\(id)"
            #expect(each.firstLine.contains("  request \(id) to \(audience): \(sentence)"), "\(each.firstLine)")
            #expect(each.json["outcome"] == outcome && each.json["reason"] == reason, "\(each.json)")
            #expect(each.json["audiences"] == "[\"\(audience.replacing("/", with: "\\/"))\"]", "\(each.json)")
            let source = "notifications.requests/1/\(each.explanation.event.offset)"
            #expect(each.json["source"] == source && each.report.text.contains("  request      \(source)\n"))
            #expect(each.json["transaction"] != nil && each.json["order_id"] == nil)
        }
        // What cannot be read has no id, and is explained all the same.
        #expect(requests.count == expected.count + 1 && requests.last?.json["reason"] == "invalid_json")
    }

    @Test("a request that the broker refused is not taken for the event at the same place of the other topic")
    func refusedRequest() throws {
        let refused = EventCoordinates(SourcePartition(.requests, 1), offset: 0)
        let told = try Told(Self.day(), refusing: [refused: "the broker refuses it: TOO_LARGE"])
        let found = told.all.filter { $0.json["reason"] == "record_refused" }
        #expect(found.count == 1 && found.first?.json["request_id"] == "sent")
    }

    @Test("§5.4: the audiences that the settings name for an event are told")
    func audiences() throws {
        let told = try Told(Self.day()).all.filter { !$0.explanation.isTimer && $0.json["outcome"] == "sent" }
        let changed = told.filter { $0.json["event_type"] == "event_order_status_changed" }
        #expect(!changed.isEmpty)
        for each in changed {
            #expect(each.json["audiences"] == #"["place\/shop"]"#, "\(each.json)")
            #expect(each.report.text.contains("\n  audiences    place/shop\n"), "\(each.report.text)")
        }
        let created = told.filter { $0.json["event_type"] == "event_order_created" }
        #expect(!created.isEmpty && created.allSatisfy { $0.json["audiences"] == nil })
    }

    @Test("a timer that becomes a dead letter is explained as itself, not as another one")
    func deadTimer() throws {
        let told = try Told(Self.day())
        let dead = told.all.filter { $0.explanation.isTimer && $0.json["outcome"] == "dead_letter" }
        #expect(dead.count == 2 && dead.allSatisfy { $0.json["order_id"] == "crowded" })
        #expect(
            dead.first?.firstLine.contains("a timer of order crowded: not sent: a dead letter, too_many_devices")
                == true)
    }

    @Test("of a device: since when, until when, and that others got it")
    func devices() throws {
        let toy = try Self.day()
        let told = try Told(toy, .device(tokenHash: SHA256.hex(of: "late")))
        let first = try #require(told.all.first { $0.explanation.order == "sent" })
        let time = (ToyPipeline.morning + 3 * 3_600_000).iso8601
        #expect(first.firstLine.hasSuffix(": sent to 1 device, not to this one"), "\(first.report.text)")
        #expect(first.report.text.contains("  subscribed   not until \(time)\n") && !first.report.text.contains("more"))
        #expect(first.json["subscribed"] == "not until \(time)")
        let crowd = try #require(
            try Told(toy).all.first { $0.explanation.order == "unpicked" && $0.explanation.devices > 0 })
        #expect(crowd.firstLine.hasSuffix("sent to 1 device"))
    }

    // MARK: A day with everything in it

    /// The explanations of all events and timers.
    private struct Told {
        struct Each {
            var explanation: Explanation
            var report: ExplanationReport
            /// Of the document; what is no text as JSON.
            var json: [String: String]
            var firstLine: String { report.text.split(separator: "\n").first.map(String.init) ?? "" }
        }

        var all: [Each] = []

        init(
            _ toy: borrowing ToyPipeline, _ subject: Explanation.Subject = .events,
            refusing refused: [EventCoordinates: String] = [:], code: String = "record_refused",
            filter: FilterRules = FilterRules()
        ) throws {
            let run = try ReplayRun(toy)
            let index = try DispatchIndex(Scratch(), topics: ToyPipeline.topics)
            var refusals = Refusals(topics: ToyPipeline.topics)
            for (event, message) in refused {
                Headers(of: event, code: code, message: message).with {
                    refusals.note(key: nil, headers: $0, at: Coordinates(partition: 1, offset: 7))
                }
            }
            let sink = ExplainSink(
                subject, toy.configuration, index: index, refusals: refusals,
                history: try run.history.makeReader(.asOfEvent))
            for explanation in try run.perform(toy, try run.plan(toy), filter: filter, into: sink).finish() {
                let report = ExplanationReport(explanation, toy.configuration.topics)
                let document = try JSONSerialization.jsonObject(with: Data(report.json().utf8))
                var members: [String: String] = [:]
                for (name, value) in try #require(document as? [String: Any]) {
                    if let value = value as? String {
                        members[name] = value
                    } else if let value = value as? Bool {
                        members[name] = "\(value)"
                    } else if value is [String: Any] || value is [Any] {
                        members[name] = String(
                            decoding: try JSONSerialization.data(withJSONObject: value), as: UTF8.self)
                    }
                }
                all.append(Each(explanation: explanation, report: report, json: members))
            }
        }
    }

    /// The headers of a dead letter.
    struct Headers {
        private var pairs: [(String, String)]

        init(of event: EventCoordinates, code: String = "record_refused", message: String) {
            let topic = ToyPipeline.topics.topic(of: event.partition.source)
            pairs = [
                ("traceparent", "00-x"), ("x-error-code", code), ("__connect.errors.topic", topic),
                ("__connect.errors.partition", "\(event.partition.number)"),
                ("__connect.errors.offset", "\(event.offset)"),
                ("__connect.errors.connector.name", "carillon"), ("__connect.errors.stage", "TASK_PUT"),
                ("__connect.errors.exception.message", message),
            ]
        }

        func with<Result>(_ body: ([EventHeader]) throws -> Result) rethrows -> Result {
            let memory = Memory()
            return try withExtendedLifetime(memory) {
                try body(pairs.map { EventHeader(name: memory.copy($0.0), value: memory.copy($0.1)) })
            }
        }
    }

    /// Two orders fit into the state, and a third comes.
    private static func fullState() throws -> ToyPipeline {
        var toy = try ToyPipeline { $0.orders.maxBytes = 1_000 }
        try toy.subscribe("early", to: "shop")
        for order in ["first", "second", "third"] { toy.order(order, slot: "13:00", status: "pending") }
        try toy.transact([100, 0, 0])
        return toy
    }

    private static func day() throws -> ToyPipeline {
        var toy = try ToyPipeline {
            let audiences = try AudienceTemplate.list("place/{place_id},user/{buyers[*].id}")
            $0.rules = try ExtractionRules(
                timeZone: "Europe/Berlin", onMissingOrderID: .deadLetter,
                audiences: AudienceTemplates([.place], own: [.orderStatusChanged: audiences]))
            $0.maxDevicesPerEvent = bound
            $0.maxBytesPerEvent = 6_000
            $0.orders.schedule?.maxLateness = .seconds(40 * 60)
            $0.requests.unknownTypes = .deadLetter
        }
        try toy.subscribe("early", to: "shop")
        try toy.subscribe("old", to: "forgotten", lastSeen: ToyPipeline.morning - 300 * 86_400_000)
        // It is 9:00 in Berlin.
        toy.order("sent", slot: "13:00", status: "pending")
        toy.order("sent", slot: "13:00", status: "pending", id: "sent")
        toy.order("lonely", place: "nowhere", slot: "13:00")
        toy.order("stale", place: "forgotten", slot: "13:00")
        toy.order("unslotted", slot: nil)
        toy.order("yesterday", slot: "08:00")
        toy.order("unpicked", slot: "11:20", status: "pending")
        toy.order("picked", slot: "13:00", status: "picking")
        toy.order("gone", slot: "13:00")
        toy.order("crowded", place: "crowd", slot: "13:00")
        try toy.transact([100, 0, 0])
        toy.order("sent", slot: "13:00", type: "ORDER_STATUS_CHANGED", status: "pending")
        toy.order("gone", slot: "13:00", type: "ORDER_STATUS_CHANGED", status: "cancelled")
        toy.order("sent", slot: "13:00", type: "TIMESLOT_STARTED")
        toy.order("sent", slot: "13:00", type: "ORDER_STATUS_CHANGED", status: "processing")
        toy.order("sent", slot: "13:00", type: "ORDER_STATUS_CHANGED", status: "pending")
        toy.event(#"{"event_id":"l","event_type":"ORDER_IDS_LISTED","place_id":"shop","order_ids":[]}"#)
        for letter in Self.deadLetters {
            toy.append(SampleRecord(key: "bad", value: letter), to: 0)
        }
        for number in 0...bound { try toy.subscribe("crowd-\(number)", to: "crowd") }
        toy.order("crowded", place: "crowd", slot: "13:00", type: "ORDER_STATUS_CHANGED", status: "processing")
        try toy.subscribe("asked", toAudience: "user/sent")
        try toy.subscribe("lost", toAudience: "user/forgotten", lastSeen: ToyPipeline.morning - 300 * 86_400_000)
        toy.request("sent")
        toy.request("late", #","expires_at":\#(toy.clock.milliseconds)"#)
        toy.request("alone")
        toy.request("forgotten")
        toy.request("sent")
        toy.request("sent", #","priority":"high""#)
        toy.request("wrong", app: #"{"title":7,"body":"B","data":{"type":"Generic"}}"#)
        toy.request("torn", app: #"{"title":"T","body":"B","data":{"type":"FinoDisconnected","action":"added"}}"#)
        toy.request("new", app: #"{"title":"T","body":"B","data":{"type":"Novelty"}}"#)
        toy.request("crowd", audience: "place/crowd")
        toy.ask(SampleRecord(key: "x", value: "no JSON"), to: 1)
        try toy.transact([100, 0, 0], requests: [0, 100])
        // At noon: the start at 11:20 has been due for 40 minutes and the first reminders for 25 and 10.
        toy.pass(3 * 3_600_000)
        try toy.subscribe("late", to: "shop")
        toy.pass(3_000)
        try toy.transact([100, 0, 0], ticks: [0])
        try toy.unsubscribe("late", from: "shop")
        // Two minutes after each start and reminder, so that none is late.
        for minutes: Int64 in [62, 15] {
            toy.pass(minutes * ToyPipeline.minute)
            // In as many slices as needed.
            for _ in 0..<3 { try toy.transact([0, 0, 0], ticks: [0]) }
        }
        return toy
    }

    /// A value for each code that a value can have.
    private static var deadLetters: [[UInt8]?] {
        let texts = [
            "no JSON", "[]", #"{"event_type":"NONSENSE","order":{"id":"x"}}"#, #"{"n":01}"#,
            #"{"event_type":"ORDER_CREATED","order":{"id":"x"}}"#,
            #"{"event_type":"ORDER_STATUS_CHANGED","order":{"id":"x","place_id":"shop"}}"#,
            #"{"event_type":"ORDER_CREATED","order":{"place_id":"shop"}}"#,
            #"{"event_type":"ORDER_STATUS_CHANGED","order":{"id":"x","status":"new"}}"#,
            #"{"event_type":"ORDER_STATUS_CHANGED","order":{"id":"x","status":"new","place_id":"shop","buyers":["#
                + (0..<1_000).map { #"{"id":\#($0)}"# }.joined(separator: ",") + "]}}",
            #"{"event_type":"ORDER_CREATED","order":{"place_id":"shop","id":""# + String(repeating: "x", count: 5_000)
                + #""}}"#,
            #"{"event_type":"ORDER_IDS_LISTED","place_id":"shop","order_ids":["#
                + (0...10_000).map { #""\#($0)""# }.joined(separator: ",") + "]}",
            #"{"event_type":"ORDER_IDS_LISTED","place_id":"shop","order_ids":["#
                + (0...2).map { #""\#($0)\#(String(repeating: "x", count: 900))""# }.joined(separator: ",") + "]}",
            String(repeating: "[", count: 100) + String(repeating: "]", count: 100),
            String(repeating: " ", count: 1 << 20) + "{}",
        ]
        return [nil, [0x22, 0xFF, 0x22]] + texts.map { Array($0.utf8) }
    }
}

extension ToyPipeline {
    fileprivate mutating func event(_ value: String) {
        append(SampleRecord(key: "l", value: value), to: 0)
    }

    /// - Parameter id: of the event; nil: a new one.
    fileprivate mutating func order(
        _ order: String, place: String = "shop", slot: String?, type: String = "ORDER_CREATED", status: String? = nil,
        id: String? = nil
    ) {
        let identity = id ?? (type == "ORDER_CREATED" ? order : "\(order)-\(logs[0].count)")
        let slot = slot.map {
            #","shipping_info":{"slot":{"date":"2025-07-07","start_time":"\#($0)","end_time":"18:00"}}"#
        }
        let value = """
            {"event_id":"\(identity)","event_type":"\(type)","occurred_at":\(clock.milliseconds),"order":{"id":"\(order)",\
            "order_number":"N","place_id":"\(place)"\(status.map { #","status":"\#($0)""# } ?? "")\(slot ?? "")}}
            """
        append(SampleRecord(key: order, value: value), to: 0)
    }

    fileprivate mutating func request(
        _ id: String, _ more: String = "", audience: String? = nil,
        app: String = #"{"title":"T","body":"B","data":{"type":"NewBill"}}"#
    ) {
        let audience = audience ?? "user/\(id)"
        ask(SampleRecord(value: #"{"request_id":"\#(id)","audience":"\#(audience)"\#(more),"app":\#(app)}"#), to: 1)
    }

    fileprivate mutating func unsubscribe(_ token: String, from place: String) throws {
        try subscribe(token, to: place, app: nil)
    }
}
