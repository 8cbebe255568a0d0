import Digests
import Notifications
import Registrar

/// What a range of `notifications.deliveries` says about dead devices. Reads no clock and no log.
package struct DeadEvidence {
    /// How old evidence must be, in milliseconds: a device that registers again meanwhile is then in the table.
    package static let age: Int64 = 600_000
    /// The answers of so long count for a credential, in milliseconds.
    package static let window: Int64 = 86_400_000
    /// The devices of one pass; the rest is left to the next one.
    package static let mostDevices = 250_000
    /// A credential with more dead devices than this is held, where they are a larger part of at least so many answers.
    static let (mostDead, fewestAnswers, mostOfHundred) = (10, 20, 5)

    /// Evidence is about a device as it was sent to.
    package struct Target: Hashable, Sendable {
        package var platform: Platform
        /// What it was sent as; nil if nothing names it.
        package var app: String?
        package var environment: PushEnvironment?
        package var credential: String
    }

    /// The newest evidence about a target.
    package struct Finding: Equatable, Sendable {
        /// When the device was last known to be dead.
        package var evidence: WallTime
        /// When the provider said so.
        package var answered: WallTime
        /// As the provider calls it.
        package var reason: String
        /// Of the oldest evidence; that of a device is in one partition.
        package var partition: Int32
        package var offset: Int64
    }

    /// What a credential was answered about devices: other outcomes are about messages, credentials and outages.
    package struct Answers: Equatable, Sendable {
        package var accepted = 0
        package var dead = 0
        /// Whether more than ``DeadEvidence/mostDead`` devices were dead in a row, with nothing accepted in between: not
        /// one device after the other died, but something happened to all.
        package var hasBurst = false
        /// When something was last accepted.
        var lastAccepted: WallTime?
        /// No more than are needed to tell that there are too many.
        fileprivate var devices: Set<AddressHash> = []
        /// By partition, those since something was accepted.
        fileprivate var row: [Int32: Set<AddressHash>] = [:]

        package init() {}

        package var all: Int { accepted + dead }

        fileprivate mutating func accept(in partition: Int32, at time: WallTime?) {
            accepted += 1
            row[partition] = nil
            if let time { lastAccepted = max(lastAccepted ?? time, time) }
        }

        fileprivate mutating func note(dead device: AddressHash, in partition: Int32) {
            dead += 1
            if devices.count <= DeadEvidence.mostDead { devices.insert(device) }
            row[partition, default: []].insert(device)
            guard let count = row[partition]?.count, count > DeadEvidence.mostDead else { return }
            hasBurst = true
            row[partition] = nil
        }

        fileprivate var isTooDead: Bool {
            devices.count > DeadEvidence.mostDead && all >= DeadEvidence.fewestAnswers
                && dead * 100 > all * DeadEvidence.mostOfHundred
        }
    }

    /// Evidence later than this is not read yet, nor what comes after it in its partition.
    private let latest: WallTime
    /// Evidence since then waits until something is accepted with its credential; older evidence is forgotten.
    private let waitsSince: WallTime
    /// Answers up to then were confirmed by a person.
    private let confirmed: WallTime
    private let limit: Int
    private(set) var devices: [AddressHash: [Target: Finding]] = [:]
    package private(set) var answers: [String: Answers] = [:]
    /// Partitions that are not read further, by the offset to continue at.
    private(set) var cut: [Int32: Int64] = [:]
    /// Whether there were too many devices for one pass.
    package private(set) var hasMore = false

    package init(
        now: WallTime, age: Int64 = Self.age, limit: Int = Self.mostDevices, confirmed: WallTime? = nil
    ) {
        latest = now - age
        waitsSince = now - Self.window
        self.confirmed = confirmed ?? .distantPast
        self.limit = limit
    }

    /// Takes a record, in offset order of its partition.
    ///
    /// - Parameter isJudged: an earlier run has taken its evidence, and only its answer counts.
    package mutating func note(_ record: DeliveryRecord, partition: Int32, offset: Int64, isJudged: Bool = false) {
        guard cut[partition] == nil, let credential = record.credential else { return }
        let time = record.lastSentAt ?? record.evidence
        if isJudged, time ?? .distantPast <= confirmed { return }
        switch record.outcome {
        case .accepted: answers[credential, default: Answers()].accept(in: partition, at: time)
        case .deadDevice:
            guard let device = AddressHash(hex: record.device), let evidence = record.evidence else { return }
            if !isJudged {
                guard evidence <= latest else {
                    cut[partition] = offset
                    return
                }
                guard devices[device] != nil || devices.count < limit else {
                    (cut[partition], hasMore) = (offset, true)
                    return
                }
                let target = Target(
                    platform: record.platform, app: record.app, environment: record.environment, credential: credential)
                var finding = Finding(
                    evidence: evidence, answered: time ?? evidence, reason: Self.bounded(record.reason ?? ""),
                    partition: partition, offset: offset)
                if let before = devices[device]?[target] {
                    finding.evidence = max(finding.evidence, before.evidence)
                    finding.answered = max(finding.answered, before.answered)
                    finding.offset = before.offset
                }
                devices[device, default: [:]][target] = finding
            }
            answers[credential, default: Answers()].note(dead: device, in: partition)
        case .expired, .refused, .gaveUp, .cancelled, .superseded: break
        }
    }

    /// At most 252 bytes, as a command may have.
    private static func bounded(_ reason: String) -> String { String(reason.unicodeScalars.prefix(63)) }

    /// The credentials that a person has to confirm: too many of their answers are about dead devices, or it was so before
    /// and nobody has confirmed it yet.
    ///
    /// - Parameter before: hashes of those that were held.
    package func held(before: Set<String>) -> Set<String> {
        Set(
            answers.filter { credential, answers in
                before.contains(Self.hash(of: credential)) || answers.hasBurst || answers.isTooDead
            }.keys)
    }

    /// Whether nothing was accepted with the credential since the provider said so: it may be the credential that is wrong.
    package func isWaiting(_ finding: Finding, of credential: String) -> Bool {
        guard let accepted = answers[credential]?.lastAccepted else { return true }
        return finding.answered > accepted
    }

    /// The devices whose evidence waits, by credential.
    package var waiting: [String: Int] {
        var waiting: [String: Int] = [:]
        for (target, finding) in devices.values.joined() where isWaiting(finding, of: target.credential) {
            waiting[target.credential, default: 0] += 1
        }
        return waiting
    }

    /// Where to continue in each partition if all evidence was used.
    ///
    /// - Parameter ends: how far the partitions were read.
    package func next(_ ends: [Int32: Int64]) -> [Int32: Int64] { ends.merging(cut) { min($0, $1) } }

    /// Where to continue in each partition if evidence that waits, and that of some credentials, is kept for later.
    package func next(_ ends: [Int32: Int64], keeping held: Set<String>) -> [Int32: Int64] {
        var next = next(ends)
        for (target, finding) in devices.values.joined() {
            let waits = finding.answered > waitsSince && isWaiting(finding, of: target.credential)
            guard waits || held.contains(target.credential) else { continue }
            next[finding.partition] = min(next[finding.partition] ?? finding.offset, finding.offset)
        }
        return next
    }

    /// A credential's name in the metadata of offsets, which has no room for any text.
    package static func hash(of credential: String) -> String { SHA256.hex(of: credential, digits: 8) }
}
