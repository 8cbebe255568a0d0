import FanOut
import Foundation

/// A line of an import: a subscription's record value without its key.
enum SubscriptionLine {
    private struct KeyMembers: Decodable {
        var audience: String
        var token: String
    }

    /// The key is made from the line itself; the rest is read as the pipeline would read the record.
    static func read(_ line: [UInt8]) throws(Subscription.Invalid) -> Subscription {
        guard let members = try? JSONDecoder().decode(KeyMembers.self, from: Data(line)) else {
            throw Subscription.Invalid(problems: ["it must be a JSON object with the strings audience and token"])
        }
        let key = SubscriptionKey(audience: members.audience, token: members.token)
        return try Subscription.decode(key: Array(key.text.utf8), value: line)
    }
}
