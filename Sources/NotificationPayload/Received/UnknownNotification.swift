/// A push of no known kind, as it came.
public struct UnknownNotification: Hashable, Sendable {
    public var push: ReceivedPush
    public var reason: Reason

    public enum Reason: Hashable, Sendable, CustomStringConvertible {
        /// `default` is not JSON with an object `data`; ``OrderPayload/problems(in:)`` says the same.
        case unreadableOrder
        /// The push has neither data nor anything to show.
        case empty
        /// The text is not JSON, or not a JSON object. The push is empty.
        case notAnObject

        public var description: String {
            switch self {
            case .unreadableOrder: OrderPayloadError.unreadable.description
            case .empty: "the push has neither data nor anything to show"
            case .notAnObject: "the push is not a JSON object"
            }
        }
    }

    public init(push: ReceivedPush, reason: Reason) {
        self.push = push
        self.reason = reason
    }
}
