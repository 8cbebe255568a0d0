import JSONReader
import Notifications

extension Verdict {
    private static let version: Int64 = 1

    /// The value of its record.
    ///
    /// - Parameter command: the offset of the command that it is about.
    package func json(of command: Int64) -> [UInt8] {
        var list = MemberList()
        list.add("version", Self.version)
        list.add("command", command)
        list.add("verdict", ByteText(word))
        switch self {
        case .created(let revision), .changed(let revision), .unchanged(let revision): list.add("revision", revision)
        case .gone, .malformed: break
        case .erased(let devices): list.add("devices", Int64(devices))
        case .refused(let refusal):
            list.add("reason", ByteText(refusal.code))
            switch refusal {
            case .preconditionFailed(let revision): list.add("revision", revision)
            case .staleGeneration(let current): list.add("generation", current)
            case .tooManyAudiences(let most): list.add("most", Int64(most))
            case .invalid(let problems): list.add("problems", json: .list(problems.map { .text($0) }))
            case .notFound, .notThisDevice, .personErased, .notByCredential: break
            }
        }
        return list.bytes
    }

    /// A record's verdict, and the offset of its command; nil if it is not of this version's form.
    package static func read(_ json: [UInt8], _ reader: inout JSONReader) -> (command: Int64, verdict: Verdict)? {
        json.withUnsafeBytes { bytes in
            guard let value = try? reader.parse(bytes), let members = StateMembers(value, version: Self.version),
                let command = members.integer("command"), let verdict = Verdict(members)
            else { return nil }
            return (command, verdict)
        }
    }

    private init?(_ members: StateMembers) {
        switch members.text("verdict") {
        case "created":
            guard let revision = members.integer("revision") else { return nil }
            self = .created(revision: revision)
        case "changed":
            guard let revision = members.integer("revision") else { return nil }
            self = .changed(revision: revision)
        case "unchanged":
            guard let revision = members.integer("revision") else { return nil }
            self = .unchanged(revision: revision)
        case "gone": self = .gone
        case "erased": self = .erased(devices: Int(members.integer("devices") ?? 0))
        case "refused":
            guard let refusal = Refusal(members) else { return nil }
            self = .refused(refusal)
        case "malformed": self = .malformed
        default: return nil
        }
    }

    /// Its name in the record and in the metrics.
    package var word: String {
        switch self {
        case .created: "created"
        case .changed: "changed"
        case .unchanged: "unchanged"
        case .gone: "gone"
        case .erased: "erased"
        case .refused: "refused"
        case .malformed: "malformed"
        }
    }
}

extension Refusal {
    fileprivate init?(_ members: StateMembers) {
        switch members.text("reason") {
        case "not_found": self = .notFound
        case "not_this_device": self = .notThisDevice
        case "person_erased": self = .personErased
        case "precondition_failed": self = .preconditionFailed(revision: members.integer("revision"))
        case "stale_generation":
            guard let current = members.integer("generation") else { return nil }
            self = .staleGeneration(current: current)
        case "too_many_audiences": self = .tooManyAudiences(most: Int(members.integer("most") ?? 0))
        case "not_by_credential": self = .notByCredential
        case "invalid": self = .invalid(members.texts("problems")?.map(\.text) ?? [])
        default: return nil
        }
    }

    /// Its name in the record.
    package var code: String {
        switch self {
        case .notFound: "not_found"
        case .notThisDevice: "not_this_device"
        case .personErased: "person_erased"
        case .preconditionFailed: "precondition_failed"
        case .staleGeneration: "stale_generation"
        case .tooManyAudiences: "too_many_audiences"
        case .notByCredential: "not_by_credential"
        case .invalid: "invalid"
        }
    }
}
