import Notifications
import StateStore
import TestSupport

@testable import Registrar

/// A registrar, and the topics that it writes, as a compacted log has them.
struct RegistrarWorld {
    let table: RegistrarTable
    let core: RegistrarCore
    var offset: Int64 = 0
    var time = WallTime(milliseconds: 1_764_000_000_000)
    private(set) var devices: [DeviceID: DeviceState] = [:]
    private(set) var people: [ByteText: PersonState] = [:]
    private(set) var subscriptions: [SubscriptionKey: Subscription] = [:]
    private(set) var erasures: [PersonHash: Erasure] = [:]

    init() throws {
        table = try RegistrarTable(MemoryStore())
        core = RegistrarCore(table)
    }

    /// Decides a command, in a transaction of its own unless it is to be one of several.
    @discardableResult
    mutating func decide(_ command: Command) throws -> Decision {
        let decision = try core.decide(command, at: offset, time: time)
        offset += 1
        for (id, state) in decision.devices { devices[id] = state }
        for (id, state) in decision.people { people[id] = state }
        for change in decision.subscriptions {
            subscriptions[change.key] = change.put?.subscription
        }
        for erasure in decision.erasures { erasures[erasure.person] = erasure }
        table.commit()
        return decision
    }

    @discardableResult
    mutating func decide(_ action: Action, by author: Author = .key("backend"), if condition: Condition? = nil) throws
        -> Decision
    {
        try decide(Command(action, by: author, if: condition))
    }

    /// What somebody else writes into the topic of subscriptions.
    mutating func write(_ subscription: Subscription) {
        let key = SubscriptionKey(audience: subscription.audience, token: subscription.token)
        subscriptions[key] = subscription
        table.set(key, subscription.encoded())
        table.commit()
    }

    /// Somebody else unsubscribes.
    mutating func remove(audience: String, token: String) {
        let key = SubscriptionKey(audience: audience, token: token)
        subscriptions[key] = nil
        table.set(key, nil)
        table.commit()
    }

    /// A registrar that has folded the topics, and nothing else.
    func restored() throws -> RegistrarCore {
        let table = try RegistrarTable(MemoryStore())
        for (id, state) in devices { try table.set(id, state) }
        for (id, state) in people { table.set(id, state) }
        for (key, subscription) in subscriptions { table.set(key, subscription.encoded()) }
        for erasure in erasures.values { try table.set(erasure) }
        table.commit()
        return RegistrarCore(table)
    }

    /// The audiences of an address, in order.
    func audiences(of token: String) -> [String] {
        let hash = SubscriptionKey.tokenHash(of: token)
        return subscriptions.keys.filter { $0.tokenHash == hash }.map(\.audience)
            .filter { !$0.hasPrefix("device/") }.sorted()
    }
}

extension DeviceID: ExpressibleByStringLiteral {
    /// A short name is made as long as an id has to be.
    public init(stringLiteral text: String) {
        self.init(text + String(repeating: "-", count: max(0, 16 - text.utf8.count)))!
    }
}

extension Action {
    /// An app's whole device, with an FCM address.
    static func put(
        _ device: DeviceID, _ token: ByteText?, person: ByteText? = nil, _ audiences: ByteText...,
        generation: Int64? = nil, newCredential: ByteText? = nil
    ) -> Action {
        var change = DeviceChange(device, isWhole: true)
        change.address = token.map { .set(.init(.registrationToken, $0)) } ?? .keep
        change.person = person.map { .set($0) } ?? .remove
        change.audiences = audiences
        change.app = "com.example.shop"
        change.generation = generation
        change.newCredential = newCredential
        return .changeDevice(change)
    }

    static func change(_ device: DeviceID, _ body: (inout DeviceChange) -> Void) -> Action {
        var change = DeviceChange(device)
        body(&change)
        return .changeDevice(change)
    }

    static func logOut(_ device: DeviceID) -> Action { change(device) { $0.person = .remove } }

    static func move(_ device: DeviceID, to token: ByteText, _ kind: AddressKind = .installationID) -> Action {
        change(device) { $0.address = .set(.init(kind, token)) }
    }

    static func set(_ person: ByteText, _ audiences: ByteText...) -> Action {
        var change = PersonChange(person)
        change.audiences = audiences
        return .changePerson(change)
    }
}

extension Verdict {
    var isRefused: Bool {
        switch self {
        case .refused: true
        case .created, .changed, .unchanged, .gone, .erased, .malformed: false
        }
    }
}
