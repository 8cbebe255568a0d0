import Notifications

/// What is known of a device: one record of `notifications.devices`.
package struct DeviceState: Equatable, Sendable {
    /// Of the audiences that are the device's own.
    package static let mostAudiences = 200
    /// Of the addresses that it has left: with one more, what is on its way to the first of them is withdrawn.
    static let mostLeft = 8

    package var id: DeviceID
    /// The offset of the command that has last changed what a client sees of it.
    package var revision: Int64
    package var address: AddressState = .none
    /// Those that it has had before, of the same person, in the order in which it has left them. What was meant for the person
    /// may still be on its way to them.
    package var left: [LeftAddress] = []
    /// The bundle id or package name.
    package var app: ByteText = ""
    package var environment = PushEnvironment.production
    package var locale: ByteText?
    package var timeZone: ByteText?
    package var person: ByteText?
    /// What the app has asked for, sorted. Those that are not channels leave with the person.
    package var audiences: [ByteText] = []
    /// The app's counter of its own changes.
    package var generation: Int64?
    /// The SHA-256 of the device credential's secret, in hex.
    package var credential: ByteText?
    package var registeredAt: WallTime
    /// To a day.
    package var seenAt: WallTime
    /// To a week: what its subscriptions say as `last_seen_at`.
    package var refreshedAt: WallTime

    package init(_ id: DeviceID, revision: Int64, registeredAt time: WallTime) {
        self.id = id
        self.revision = revision
        registeredAt = time
        seenAt = time
        refreshedAt = time
    }

    /// The address by which it can be reached now.
    package var live: Address? {
        switch address {
        case .live(let address): address
        case .dead, .claimed, .none: nil
        }
    }
}

/// An address that a device has had.
package struct LeftAddress: Equatable, Sendable {
    package var hash: AddressHash
    /// When the device has left it.
    package var at: WallTime

    package init(_ hash: AddressHash, at time: WallTime) {
        (self.hash, at) = (hash, time)
    }
}

/// Where a provider finds a device.
package struct Address: Equatable, Sendable {
    package let kind: AddressKind
    /// The provider's token or id: opaque, and a secret.
    package let value: ByteText
    /// Since when it is the device's.
    package let since: WallTime
    package let hash: AddressHash

    package init(_ kind: AddressKind, _ value: ByteText, since: WallTime) {
        self.kind = kind
        self.value = value
        self.since = since
        hash = AddressHash(of: value.text)
    }
}

package enum AddressState: Equatable, Sendable {
    /// It never had one.
    case none
    case live(Address)
    /// The provider has said that nobody has it any more.
    case dead(AddressHash, Death)
    /// Another device has registered it since.
    case claimed(AddressHash, at: WallTime)

    /// The address to which pushes for the device may be on their way; a provider that calls one dead may be wrong.
    var reached: AddressHash? {
        switch self {
        case .live(let address): address.hash
        case .dead(let hash, _): hash
        case .claimed, .none: nil
        }
    }
}

/// A provider's word that an address is nobody's.
package struct Death: Equatable, Sendable {
    package var platform: Platform
    /// As the provider calls it.
    package var reason: ByteText
    /// When the device was last known to be dead.
    package var at: WallTime

    package init(_ platform: Platform, reason: ByteText, at: WallTime) {
        self.platform = platform
        self.reason = reason
        self.at = at
    }
}

/// What is known of a person: one record of `notifications.people`.
package struct PersonState: Equatable, Sendable {
    /// Of the audiences that the shop's backend has set.
    package static let mostAudiences = 1_000
    /// With one more, the device that was seen longest ago is forgotten.
    package static let mostDevices = 100

    package var id: ByteText
    /// The offset of the command that has last changed it.
    package var revision: Int64
    /// Of each of its devices, also of those that come later; sorted.
    package var audiences: [ByteText] = []
    package var locale: ByteText?
    package var timeZone: ByteText?

    package init(_ id: ByteText, revision: Int64) {
        self.id = id
        self.revision = revision
    }
}
