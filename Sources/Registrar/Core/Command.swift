import Notifications

/// What somebody wants to be changed: one record of `notifications.commands`. It is decided by the registrar alone, in the
/// order of the log.
package struct Command: Equatable, Sendable {
    package var author: Author
    package var condition: Condition?
    package var action: Action

    package init(_ action: Action, by author: Author, if condition: Condition? = nil) {
        self.action = action
        self.author = author
        self.condition = condition
    }
}

package enum Author: Equatable, Sendable {
    /// A backend, by the id of its key.
    case key(String)
    /// A person, by a token that was issued then.
    case user(ByteText, issuedAt: WallTime)
    /// Whoever has the secret of the device credential with this SHA-256, in hex.
    case device(ByteText)
    /// The sender, by a provider's answer.
    case sender
}

/// What must be so where the command is decided (RFC 9110 §13.1).
package enum Condition: Equatable, Sendable {
    /// `If-Match` with a revision.
    case revision(Int64)
    /// `If-Match: *`
    case exists
    /// `If-None-Match: *`
    case isNew
    /// The device is still this person's: else there is nothing to be done.
    case isOf(ByteText)
    /// Of a device: neither its person nor its address was erased, unless the device has them already. It is of whoever
    /// writes what may be old.
    case bringsNobodyBack
}

package enum Action: Equatable, Sendable {
    case changeDevice(DeviceChange)
    case deleteDevice(DeviceID)
    case buryAddress(AddressHash, Evidence)
    case changePerson(PersonChange)
    case erasePerson(ByteText)
}

/// A provider's word about an address, as it was sent to.
package struct Evidence: Equatable, Sendable {
    package var death: Death
    /// APNs answers for a token, an app and an environment, FCM for a token alone; nil: for all of them.
    package var app: ByteText?
    package var environment: PushEnvironment?

    package init(_ death: Death, app: ByteText? = nil, environment: PushEnvironment? = nil) {
        (self.death, self.app, self.environment) = (death, app, environment)
    }

    /// Whether it is about this app.
    func fits(_ platform: Platform, _ environment: PushEnvironment, app isThis: (ByteText) -> Bool) -> Bool {
        platform == death.platform && self.environment.map { $0 == environment } ?? true && app.map(isThis) ?? true
    }
}

/// What becomes of a member.
package enum Change<Value: Equatable & Sendable>: Equatable, Sendable {
    case keep
    case remove
    case set(Value)

    package func applied(to value: Value?) -> Value? {
        switch self {
        case .keep: value
        case .remove: nil
        case .set(let new): new
        }
    }
}

package struct DeviceChange: Equatable, Sendable {
    /// What every reader of JSON can count.
    package static let generations: ClosedRange<Int64> = 0...(1 << 53 - 1)

    package struct NewAddress: Equatable, Sendable {
        package var kind: AddressKind
        package var value: ByteText

        package init(_ kind: AddressKind, _ value: ByteText) {
            self.kind = kind
            self.value = value
        }
    }

    package var device: DeviceID
    /// Whether it is the whole device as its app sees it: it is made if it is new, and what is kept is removed.
    package var isWhole: Bool
    package var address: Change<NewAddress> = .keep
    package var app: ByteText?
    package var environment: PushEnvironment?
    package var locale: Change<ByteText> = .keep
    package var timeZone: Change<ByteText> = .keep
    package var person: Change<ByteText> = .keep
    /// All audiences of its own; nil: those that it has.
    package var audiences: [ByteText]?
    package var adds: [ByteText] = []
    package var removes: [ByteText] = []
    package var generation: Int64?
    /// The SHA-256 of the secret of a new device credential, in hex.
    package var newCredential: ByteText?

    package init(_ device: DeviceID, isWhole: Bool = false) {
        self.device = device
        self.isWhole = isWhole
    }
}

package struct PersonChange: Equatable, Sendable {
    package var person: ByteText
    /// All audiences that the backend has set; nil: those that there are.
    package var audiences: [ByteText]?
    package var locale: Change<ByteText> = .keep
    package var timeZone: Change<ByteText> = .keep

    package init(_ person: ByteText) {
        self.person = person
    }
}
