import Notifications

/// What the registrar writes for a command, all of it in one transaction.
package struct Decision: Equatable, Sendable {
    package var verdict: Verdict
    /// By the key of the record; nil: a tombstone.
    package var devices: [(id: DeviceID, state: DeviceState?)] = []
    package var people: [(id: ByteText, state: PersonState?)] = []
    package var subscriptions: [SubscriptionChange] = []
    /// Of when the evidence is by which subscriptions are removed: what somebody has written since then, and the registrar
    /// has not read yet, is to stay. Nil: another reason removes them.
    package var evidence: WallTime?
    /// Of people that are erased now.
    package var erasures: [Erasure] = []
    /// One for an address at most.
    package private(set) var withdrawals: [Withdrawal] = []

    package init(_ verdict: Verdict) {
        self.verdict = verdict
    }

    mutating func withdraw(_ address: AddressHash, _ extent: Withdrawal.Extent) {
        guard let index = withdrawals.firstIndex(where: { $0.address == address }) else {
            return withdrawals.append(Withdrawal(address, extent))
        }
        switch (withdrawals[index].extent, extent) {
        case (.everything, _): break
        case (.audiences, .everything): withdrawals[index].extent = .everything
        case (.audiences(let some), .audiences(let more)):
            withdrawals[index].extent = .audiences(Set(some).union(more).sorted())
        }
    }

    /// Whether anything but the verdict is written.
    package var changes: Bool {
        !devices.isEmpty || !people.isEmpty || !subscriptions.isEmpty || !erasures.isEmpty
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.verdict == right.verdict && left.subscriptions == right.subscriptions && left.evidence == right.evidence
            && left.erasures == right.erasures && left.withdrawals == right.withdrawals
            && left.devices.elementsEqual(right.devices, by: ==) && left.people.elementsEqual(right.people, by: ==)
    }
}

/// A record of `notifications.subscriptions`.
package struct SubscriptionChange: Equatable, Sendable {
    package var key: SubscriptionKey
    /// What is put; nil: the record is a tombstone.
    package var put: (subscription: Subscription, value: [UInt8])?
    /// The header `since`: its address takes another one's place, and the device is no joiner.
    package var since: WallTime?

    package static func == (left: Self, right: Self) -> Bool {
        left.key == right.key && left.since == right.since && left.put?.value == right.put?.value
    }
}

/// Older pushes to an address that must not be sent any more.
package struct Withdrawal: Equatable, Sendable {
    package enum Extent: Equatable, Sendable {
        case everything
        /// Those for these audiences.
        case audiences([ByteText])
    }

    package var address: AddressHash
    package var extent: Extent

    /// Nil: all.
    var audiences: [String]? {
        switch extent {
        case .everything: nil
        case .audiences(let audiences): audiences.map(\.text)
        }
    }

    package init(_ address: AddressHash, _ extent: Extent) {
        self.address = address
        self.extent = extent
    }
}

/// What became of a command.
package enum Verdict: Equatable, Sendable {
    /// - Parameter revision: of what it has made.
    case created(revision: Int64)
    case changed(revision: Int64)
    /// It is so already.
    case unchanged(revision: Int64)
    /// It is not there any more, or never was.
    case gone
    case erased(devices: Int)
    case refused(Refusal)
    /// The record is no command of this version.
    case malformed
}

package enum Refusal: Equatable, Sendable {
    /// There is no such device or person, or it is not the author's.
    case notFound
    /// The author is not the person of the device, and shows neither its credential nor its address.
    case notThisDevice
    /// The person was erased after the author's token was issued.
    case personErased
    /// - Parameter revision: of the state; nil: there is none.
    case preconditionFailed(revision: Int64?)
    /// - Parameter current: the device's.
    case staleGeneration(current: Int64)
    case tooManyAudiences(most: Int)
    /// A device credential may change the address, the locale and the time zone, log out and unregister.
    case notByCredential
    /// What it would become is not allowed: a sentence for each problem, without an address in it.
    case invalid([String])
}
