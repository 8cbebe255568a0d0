import JSONReader
import Notifications

/// Which people and addresses were erased, and when: the fold of `notifications.erasures`. By it whoever writes old data
/// again leaves it out.
package struct SuppressionList {
    private var people: [PersonHash: WallTime] = [:]
    private var addresses: [AddressHash: WallTime] = [:]

    package init() {}

    /// Whether nobody was erased.
    package var isEmpty: Bool { people.isEmpty }

    /// The next record. What is no erasure of this version changes nothing.
    package mutating func take(key: [UInt8]?, value: [UInt8]?, _ reader: inout JSONReader) {
        guard let key, let person = PersonHash(hex: String(decoding: key, as: UTF8.self)), let value,
            let erasure = Erasure(person, value, &reader)
        else { return }
        people[person] = erasure.at
        addresses.merge(erasure.addresses) { max($0, $1) }
    }

    /// Whether a subscription's person or address was erased since it was registered, or nobody knows when it was.
    package func includes(_ subscription: Subscription) -> Bool {
        guard !isEmpty else { return false }
        return includes(
            ByteText(subscription.audience), AddressHash(of: subscription.token), since: subscription.registeredAt)
    }

    /// Whether what is for an audience at an address was erased.
    ///
    /// - Parameters:
    ///   - address: nil: it is not known.
    ///   - time: of what is asked about: an earlier erasure does not matter. Nil: each does.
    package func includes(_ audience: ByteText, _ address: AddressHash?, since time: WallTime?) -> Bool {
        let person = people.isEmpty ? nil : audience.person.flatMap { people[PersonHash($0)] }
        guard let erased = [person, address.flatMap { addresses[$0] }].compactMap({ $0 }).max() else { return false }
        return time.map { $0 <= erased } ?? true
    }
}
