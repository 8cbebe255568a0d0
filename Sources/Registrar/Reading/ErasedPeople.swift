import JSONReader
import Notifications

/// Who was erased, and when: the fold of `notifications.erasures`. By it whoever writes old data again leaves it out.
package struct ErasedPeople {
    private var times: [PersonHash: WallTime] = [:]

    package init() {}

    /// The next record. What is no erasure of this version changes nothing.
    package mutating func take(key: [UInt8]?, value: [UInt8]?, _ reader: inout JSONReader) {
        guard let key, let person = PersonHash(hex: String(decoding: key, as: UTF8.self)), let value,
            let erasure = Erasure(person, value, &reader)
        else { return }
        times[person] = erasure.at
    }

    /// Whether a subscription is of a person who was erased since it was registered, or nobody knows when it was.
    package func includes(_ subscription: Subscription) -> Bool {
        guard !times.isEmpty, ByteText(subscription.audience).audience == .user else { return false }
        let person = ByteText(String(subscription.audience.dropFirst("user/".count)))
        guard let erased = times[PersonHash(person)] else { return false }
        return subscription.registeredAt.map { $0 <= erased } ?? true
    }
}
