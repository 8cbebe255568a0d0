import Notifications

/// Whose dead devices may be deleted.
package enum ReapApproval: Equatable, Sendable {
    /// Those of credentials that are not held.
    case withinLimit
    /// All of them: a person has confirmed the number.
    case everything
}

/// What the reaper would delete now.
package struct ReapPlan {
    /// What is deleted of an app of a platform by a credential's answers.
    package struct Group: Equatable, Sendable, Encodable {
        package var platform: Platform
        package var app: String
        package var credential: String
        package var devices: Int
        package var subscriptions: Int
    }

    /// What the group had committed when it was made.
    var base: ReapPositions
    var evidence: DeadEvidence
    var live: LiveVersions
    /// When it was made.
    var time: WallTime
    /// How far the deliveries were read.
    var ends: [Int32: Int64]
    /// How far the subscriptions were read; empty if there is no evidence.
    var judged: [Int32: Int64] = [:]

    /// By credential, the answers about devices: those of a day, and all since the last run.
    package var answers: [String: DeadEvidence.Answers] { evidence.answers }
    /// The credentials of which nothing is deleted until a person confirms the number.
    package var held: Set<String> { evidence.held(before: base.held) }
    /// By credential, the devices of which nothing is deleted before something is accepted with it.
    package var waiting: [String: Int] { evidence.waiting }
    /// Whether more evidence is left for another run.
    package var hasMore: Bool { evidence.hasMore }

    /// What is deleted with this approval.
    package func dead(_ approval: ReapApproval) -> [DeadVersion] {
        switch approval {
        case .everything: return evidence.dead(among: live)
        case .withinLimit:
            let held = held
            return evidence.dead(among: live) { target, finding in
                !held.contains(target.credential) && !evidence.isWaiting(finding, of: target.credential)
            }
        }
    }

    /// The devices that are deleted with this approval.
    package func devices(_ approval: ReapApproval) -> Int { Set(dead(approval).map(\.device)).count }

    /// What all approvals together delete, by platform, app and credential.
    package var groups: [Group] {
        var groups: [[String]: (group: Group, devices: Set<DeviceHash>)] = [:]
        for dead in dead(.everything) {
            let version = dead.version
            let empty = Group(
                platform: version.platform, app: version.app, credential: dead.credential, devices: 0, subscriptions: 0)
            let key = [version.platform.rawValue, version.app, dead.credential]
            groups[key, default: (empty, [])].group.subscriptions += 1
            groups[key]?.devices.insert(dead.device)
        }
        return groups.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { _, found in
            var group = found.group
            group.devices = found.devices.count
            return group
        }
    }

    /// What the group commits with this approval, before any null.
    func positions(_ approval: ReapApproval) -> ReapPositions {
        switch approval {
        case .everything: ReapPositions(next: evidence.next(ends), confirmed: time)
        case .withinLimit:
            ReapPositions(
                next: evidence.next(ends, keeping: held),
                held: base.held.union(held.map(DeadEvidence.hash)),
                confirmed: base.confirmed.flatMap { time - $0 < DeadEvidence.window ? $0 : nil })
        }
    }
}

/// What a run of the reaper has done.
package struct ReapReport: Equatable, Sendable, Encodable {
    /// Devices that were taken out of the table, and their subscriptions.
    package var devices = 0
    package var subscriptions = 0
    /// What others had written meanwhile, and was written again.
    package var restored = 0
    /// Names of the credentials that wait for a person.
    package var held: [String] = []
    /// Whether more evidence is left for another run.
    package var hasMore = false

    mutating func note(_ dead: [DeadVersion]) {
        subscriptions = dead.count
        devices = Set(dead.map(\.device)).count
    }
}

/// Another reaper of the group has taken over, which finishes what this one began.
package struct ReaperTakenOver: Error, CustomStringConvertible {
    package var group: String

    package var description: String {
        "another reaper of \(group) has taken over, and finishes what this one began"
    }
}

/// It was asked to stop. What is open is finished by the next run.
package struct ReaperStopped: Error {}
