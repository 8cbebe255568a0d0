import NotificationPayload
import Notifications
import TestSupport

/// Requests with random fields, all of them small enough for both providers.
struct RandomRequests {
    private var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    mutating func next() -> SampleRequest {
        var sample = SampleRequest(content: Bool.random(using: &random) ? .app : .message)
        sample.messageID = "msg-\(Int.random(in: 0...2_000_000_000_000, using: &random))-abc123def"
        sample.eventTime = requested + Int64.random(in: -1_000_000...1_000_000, using: &random)
        sample.expiresAt = sample.eventTime + Int64.random(in: 0...9_999_999_999, using: &random)
        sample.fcmExpiresAt = maybe { WallTime(milliseconds: .random(in: 0...9_999_999_999_999, using: &$0)) }
        sample.collapseKey = maybeText()
        sample.priority = maybe { Bool.random(using: &$0) ? .high : .normal }
        switch sample.content {
        case .app:
            sample.title = text()
            sample.body = text()
            sample.image = maybe { "https://a.example/\(Int.random(in: 0...9, using: &$0)).png" }
            sample.custom = [("type", .string(text()))]
            if let action = maybeText() {
                sample.clickAction = action
                sample.custom.append(("click_action", .string(action)))
            }
            for key in 0..<Int.random(in: 0...4, using: &random) {
                sample.custom.append((text() + "\(key)", .string(text())))
            }
        case .message:
            sample.isSilent = Int.random(in: 0..<4, using: &random) == 0
            sample.title = maybeText()
            sample.body = maybeText()
            sample.sound = maybeText()
            sample.icon = maybeText()
            sample.category = maybeText()
            sample.badge = maybe { Int32.random(in: 0...Int32.max, using: &$0) }
            sample.titleKey = maybeText()
            sample.titleArguments = sample.titleKey == nil ? [] : texts()
            sample.bodyKey = maybeText()
            sample.bodyArguments = sample.bodyKey == nil ? [] : texts()
            for key in 0..<Int.random(in: 0...4, using: &random) {
                sample.custom.append((text() + "\(key)", value(depth: 0)))
            }
        }
        return sample
    }

    private mutating func maybe<Value>(_ make: (inout SeededGenerator) -> Value) -> Value? {
        Bool.random(using: &random) ? make(&random) : nil
    }

    private mutating func maybeText() -> String? { Bool.random(using: &random) ? text() : nil }

    private mutating func texts() -> [String] { (0..<Int.random(in: 0...3, using: &random)).map { _ in text() } }

    /// Not empty; with what JSON must escape, and without the names that a phone recognises.
    private mutating func text() -> String {
        let pieces = ["a", "Ö", "😀", "\"", "\\", "/", "\n", "\u{1}", "\u{2028}", "\u{7F}", " ", "{", "}", ",", "z"]
        let count = Int.random(in: 1...9, using: &random)
        return (0..<count).map { _ in pieces[Int.random(in: 0..<pieces.count, using: &random)] }.joined()
    }

    private mutating func value(depth: Int) -> PushValue {
        switch Int.random(in: 0..<(depth < 2 ? 6 : 4), using: &random) {
        case 0: .string(text())
        case 1: .number("\(Int64.random(in: .min...Int64.max, using: &random))")
        case 2: .number("\(Double.random(in: 0.5...99, using: &random))")
        case 3: depth == 0 ? .bool(Bool.random(using: &random)) : .null
        case 4: .array((0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth: depth + 1) })
        default:
            .object(
                Dictionary((0..<Int.random(in: 0...3, using: &random)).map { ("\($0)", value(depth: depth + 1)) }) {
                    $1
                })
        }
    }
}
