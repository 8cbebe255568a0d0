import Broadcasts
import Digests
import JSONReader
import Notifications
import Pipeline

/// Whether `carillon broadcasts` would send what a client gives, and what the records of the topic say. One owner.
struct BroadcastCheck: ~Copyable {
    /// A broadcast that may be written.
    struct Accepted: Sendable {
        var draft: BroadcastDraft
        var broadcast: BroadcastNotification
        /// What two broadcasts with one id have to have in common.
        var content: StoredHash
    }

    private let findings = RequestFindings()
    private var reader: BroadcastReader
    private var json = JSONReader()

    init(_ configuration: PipelineConfiguration) {
        reader = BroadcastReader(
            topic: configuration.topics.broadcasts, settings: configuration.rendering, findings: findings)
    }

    /// Reads the body of a PUT.
    ///
    /// - Parameter id: what the path says.
    mutating func read(_ bytes: [UInt8], id: String, now: WallTime) throws(Problem) -> Accepted {
        guard RequestBody.isID(id) else {
            throw Problem(.badRequest, "the id of the broadcast is not allowed; allowed are \(RequestBody.allowedID)")
        }
        var faults: [Problem.Fault] = []
        let own = try JSONBody.read(bytes, &json, &faults) { value throws(Problem) in
            guard value.isObject else { throw Problem(.badRequest, "the body is no object; allowed is one broadcast") }
            return Self.id(of: value)
        }
        // By bytes, as everything behind compares them.
        if let own, !own.utf8.elementsEqual(id.utf8) {
            faults.append(
                Self.fault(
                    "/notificationid", "notificationid is another one than the id that the broadcast is sent by"))
        }
        guard let draft = BroadcastDraft(bytes, id: id, now: now) else {
            let fault = Self.fault("/actiontype", "actiontype is missing; allowed are display and non-display")
            throw Problem(faults + [fault]) ?? Problem(fault.problem, fault.detail)
        }
        var broadcast: BroadcastNotification?
        do throws(BroadcastDraft.Refusal) {
            broadcast = try draft.check(&reader, findings, now: now)
        } catch {
            switch error {
            case .deadLetter(let findings): faults += findings.map { Problem.Fault($0) }
            case .expired(let time):
                throw Problem(faults)
                    ?? Problem(
                        .badRequest, "the broadcast has expired already, at \(time.iso8601): nobody would get it")
            }
        }
        if let problem = Problem(faults) { throw problem }
        guard let broadcast, let content = hash(draft.value, isPublished: draft.isPublished) else {
            throw Problem(.defect, "the broadcast could not be compared")
        }
        return Accepted(draft: draft, broadcast: broadcast, content: content)
    }

    /// What a record says; nil where it cannot be sent.
    mutating func broadcast(_ record: BroadcastRecord) -> BroadcastNotification? {
        switch reader.content(record) {
        case .published(let broadcast): broadcast
        case .failed: nil
        }
    }

    /// Whether a record says the same as what may be written. When it is published counts only where the client says it.
    mutating func isSame(_ record: BroadcastRecord, as accepted: Accepted) -> Bool {
        hash(record.value, isPublished: accepted.draft.isPublished) == accepted.content
    }

    private mutating func hash(_ value: [UInt8], isPublished: Bool) -> StoredHash? {
        value.withUnsafeBytes { bytes in
            guard let value = try? json.parse(bytes), value.isObject else { return nil }
            return CanonicalJSON.hash(
                value, without: isPublished ? ["notificationid"] : ["notificationid", "published_at"])
        }
    }

    private static func id(of broadcast: JSONValue) -> String? {
        var arena = TextArena()
        return arena.text(broadcast.member("notificationid")).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func fault(_ pointer: String, _ detail: String) -> Problem.Fault {
        Problem.Fault(pointer: pointer, .badRequest, detail: detail)
    }
}
