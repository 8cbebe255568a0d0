import HTTPServer
import KafkaClient
import Notifications
import Pipeline
import Registrar
import StateStore
import Synchronization

/// What phones say of pushes: that they have them, and what their users did (docs/devices.md, "Receipts").
package final class ReceiptEndpoints: Sendable {
    private let configuration: PipelineConfiguration
    private let writer: any RecordTaker
    private let view: DeviceView
    private let surroundings: APIHandler.Surroundings
    private let known = Mutex(RecentReceipts())

    /// - Parameter configuration: with `topic.commands`.
    package init(
        _ configuration: PipelineConfiguration, _ writer: any RecordTaker, _ view: DeviceView,
        _ surroundings: APIHandler.Surroundings
    ) {
        (self.configuration, self.writer, self.view, self.surroundings) = (configuration, writer, view, surroundings)
    }

    package var all: [Endpoint] {
        [Endpoint(Self.post) { call throws(Problem) in try self.post(call) }]
    }

    private func post(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let state = try sender(call)
        let topic = configuration.topics.receipts
        guard !topic.isEmpty else {
            throw Problem(.notFound, "topic.receipts is not set, so nothing is kept of what phones say")
        }
        guard let (address, platform) = state.address.provider else {
            throw Problem(.notFound, "the device has no address of its own, so it has no push")
        }
        let items = try ReceiptBody.read(call.request.body, now: surroundings.now())
        let receipts = items.map {
            Receipt(
                $0.kind, of: $0.messageID, device: address.hex, at: $0.at, platform: platform, app: state.app.text)
        }
        var seen: Set<Receipt> = []
        let new = known.withLock { known in receipts.filter { !known.contains($0) && seen.insert($0).inserted } }
        let done = call.response(
            .accepted, ["recorded": .integer(Int64(new.count)), "repeated": .integer(Int64(items.count - new.count))])
        guard !new.isEmpty else { return .now(done) }
        var call = call
        call.request.body = []
        let (writer, waiting) = (writer, call)
        return .later(within: configuration.api.wait, otherwise: .outcomeUnknown) { respond in
            // Of several that are not all written the phone says all again: of a kind the first counts.
            let left = Mutex(new.count)
            for receipt in new {
                let record = ProducerRecord(key: Array(receipt.device.utf8), value: receipt.json)
                writer.write(record, to: topic, for: waiting, respond) { _, _ in
                    self.known.withLock { _ = $0.insert(receipt) }
                    let isLast = left.withLock { left in
                        left -= 1
                        return left == 0
                    }
                    if isLast { respond(done) }
                }
            }
        }
    }

    /// The device whose credential it is.
    private func sender(_ call: Call) throws(Problem) -> DeviceState {
        guard let credential = call.credential else {
            throw Problem(.noCredential, "the credential of a device is needed")
        }
        let state: DeviceState?
        do throws(StoreError) {
            state = try view.device(credential.device)
        } catch {
            throw Problem(.notYet, "the table of devices cannot be read: it is filled again")
        }
        guard let state, state.credential == credential.hash else {
            // It may have been made a moment ago.
            try view.refuseUnlessFresh(within: configuration.subscriptionsMaxLag)
            throw Problem(.badCredential, "the credential is not the device's")
        }
        return state
    }
}

extension AddressState {
    /// What the device was called in pushes, and by whom they came.
    fileprivate var provider: (AddressHash, Platform)? {
        switch self {
        case .live(let address): (address.hash, address.kind.platform)
        case .dead(let address, let death): (address, death.platform)
        case .claimed, .none: nil
        }
    }
}

extension ReceiptEndpoints {
    static let operations = [post]

    static let post = APIOperation(
        "recordReceipts", .post, "/v1/receipts", "Say that a phone has a push, or what its user did with it.",
        isForDevices: true,
        body: APIOperation.Body([
            "type": "object", "required": ["receipts"],
            "properties": [
                "receipts": [
                    "type": "array", "minItems": 1, "maxItems": .integer(Int64(ReceiptBody.most)),
                    "items": [
                        "type": "object", "required": ["message_id", "kind", "at"], "additionalProperties": false,
                        "properties": [
                            "message_id": ["type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[!-~]+$"],
                            "kind": ["enum": .list(Receipt.Kind.allCases.map { .text($0.rawValue) })],
                            "at": [
                                "type": "string", "format": "date-time",
                                "description": "By the phone's clock; at most 35 days ago, and a day ahead.",
                            ],
                        ],
                    ],
                ]
            ],
        ]),
        responses: [
            APIOperation.Response(
                .accepted, "Recorded in Kafka; what was recorded before is not written again",
                [
                    "type": "object", "required": ["recorded", "repeated"],
                    "properties": ["recorded": ["type": "integer"], "repeated": ["type": "integer"]],
                ])
        ], problems: [.noCredential, .notRecorded, .outcomeUnknown, .notYet, .quotaExceeded])
}
