import Foundation

extension CommandProcess {
    /// `carillon render` of these events, with one subscription of place 42.
    static func render(_ arguments: [String], events: String) throws -> CommandProcess {
        let subscription = #"{"audience":"place/42","token":"a-made-up-token","platform":"fcm","app":"a"}"#
        let file = FileManager.default.temporaryDirectory.path + "/subscriptions-\(UUID().uuidString).jsonl"
        try Data(subscription.utf8).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        return try run(["render", "--subscriptions", file] + arguments, input: events)
    }

    /// The types of the pushes, and the reasons for what is not sent, in their order.
    var outline: [String] {
        output.split(separator: "\n").map { line in
            for mark in [#""dropped":""#, #""suppressed":""#, #"event_type\\\":\\\"event_"#] {
                if let found = line.range(of: mark) {
                    return String(line[found.upperBound...].prefix { $0.isLetter || $0 == "_" })
                }
            }
            return String(line.prefix(40))
        }
    }
}
