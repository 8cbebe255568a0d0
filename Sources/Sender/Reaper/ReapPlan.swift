import Notifications
import Registrar

/// Whose dead devices the registrar is told of.
package enum ReapApproval: Equatable, Sendable {
    /// Those of credentials that are not held.
    case withinLimit
    /// All of them: a person has confirmed the number.
    case everything
}

/// What a provider says of a device.
package struct DeadDevice: Equatable, Sendable {
    package var address: AddressHash
    package var target: DeadEvidence.Target
    package var finding: DeadEvidence.Finding

    /// What the registrar is told of it.
    package var command: Command {
        let death = Death(target.platform, reason: ByteText(finding.reason), at: finding.evidence)
        var evidence = Evidence(death)
        if target.platform.provider.answersForApp {
            (evidence.app, evidence.environment) = (target.app.map { ByteText($0) }, target.environment)
        }
        return Command(.buryAddress(address, evidence), by: .sender)
    }
}

/// What the reaper would tell the registrar now.
package struct ReapPlan {
    /// The dead devices of an app of a platform by a credential's answers.
    package struct Group: Equatable, Sendable, Encodable {
        package var platform: Platform
        package var app: String
        package var credential: String
        package var devices: Int
    }

    /// What the group had committed when it was made.
    var base: ReapPositions
    var evidence: DeadEvidence
    /// When it was made.
    var time: WallTime
    /// How far the deliveries were read.
    var ends: [Int32: Int64]

    /// By credential, the answers about devices: those of a day, and all since the last run.
    package var answers: [String: DeadEvidence.Answers] { evidence.answers }
    /// The credentials of which nothing is told until a person confirms the number.
    package var held: Set<String> { evidence.held(before: base.held) }
    /// By credential, the devices of which nothing is told before something is accepted with it.
    package var waiting: [String: Int] { evidence.waiting }
    /// Whether more evidence is left for another run.
    package var hasMore: Bool { evidence.hasMore }

    /// What is told with this approval, in the order of the evidence.
    package func dead(_ approval: ReapApproval) -> [DeadDevice] {
        let held = held
        return evidence.devices.flatMap { address, found in
            found.map { DeadDevice(address: address, target: $0.key, finding: $0.value) }
        }
        .filter { dead in
            switch approval {
            case .everything: true
            case .withinLimit:
                !held.contains(dead.target.credential)
                    && !evidence.isWaiting(dead.finding, of: dead.target.credential)
            }
        }
        .sorted { ($0.finding.partition, $0.finding.offset) < ($1.finding.partition, $1.finding.offset) }
    }

    /// The devices that are told with this approval.
    package func devices(_ approval: ReapApproval) -> Int { Set(dead(approval).map(\.address)).count }

    /// What all approvals together tell, by platform, app and credential.
    package var groups: [Group] {
        var groups: [[String]: Group] = [:]
        for target in dead(.everything).map(\.target) {
            let app = target.app ?? ""
            let empty = Group(platform: target.platform, app: app, credential: target.credential, devices: 0)
            groups[[target.platform.rawValue, app, target.credential], default: empty].devices += 1
        }
        return groups.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
    }

    /// What the group commits with this approval.
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
    /// Devices that the registrar was told of.
    package var devices = 0
    /// Names of the credentials that wait for a person.
    package var held: [String] = []
    /// Whether more evidence is left for another run.
    package var hasMore = false
}

/// It was asked to stop. What is left is told by the next run.
package struct ReaperStopped: Error {}
