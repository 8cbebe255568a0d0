import Arguments
import Foundation
import NotificationPayload
import Pipeline

/// `priority` of a request (docs/rules.md §8.4).
enum RequestPriority: String, CaseIterable, ExpressibleByArgument, Sendable {
    case high, normal
}

/// What a request says, and to whom.
struct NotifyOptions: ParsableArguments {
    @Option(
        help: "Whom it is for. A device of several audiences gets it once.",
        valueName: "place/<id>|user/<id>|channel/<id>|device/<hash>")
    var audience: [String] = []
    @Option(
        help: "An app notification of this type.", valueName: "type",
        completion: .list(NotifyOptions.documentedTypes))
    var appType: String?
    @Option(help: "Its title.", valueName: "text") var title: String?
    @Option(help: "Its text.", valueName: "text") var body: String?
    @Option(name: [.customLong("image-url")], help: "Its image.", valueName: "url") var imageURL: String?
    @Option(help: "A value for the app.", valueName: "key=value") var data: [String] = []
    @Option(
        help: "In place of these, a message: document 5's object; - is standard input.", valueName: "file",
        completion: .file)
    var message: String?
    @Option(help: "A later one with this key takes its place on the phone.", valueName: "text") var collapseKey: String?
    @Option(help: "When it is no longer worth delivering; requests.ttl from now by default.", valueName: "time")
    var expiresAt: String?
    @Option(help: "The same, from now.", valueName: "duration") var expiresIn: String?
    @Option(help: "high by default; normal for a silent message.") var priority: RequestPriority?
    @Option(
        name: [.customLong("request-id")],
        help:
            "Its identity: the same one again is the same notification, which a phone shows once. A new one by default.",
        valueName: "id")
    var requestID: String?

    private static let documentedTypes = AppNotificationType.allCases.map(\.rawValue)

    func validate() -> [String] {
        var problems: [String] = []
        if audience.isEmpty { problems.append("--audience is missing: whom the notification is for") }
        let ofApp = [
            ("--app-type", appType != nil), ("--title", title != nil), ("--body", body != nil),
            ("--image-url", imageURL != nil), ("--data", !data.isEmpty),
        ].filter(\.1).map(\.0)
        if message == nil, appType == nil {
            problems.append("--app-type or --message is missing: what the notification says")
        }
        if message != nil, !ofApp.isEmpty {
            problems.append(
                "\(ofApp.joined(separator: ", ")): an app notification; --message is another one, in a file")
        }
        var keys: Set<String> = ["type"]
        for pair in data {
            guard let equals = pair.firstIndex(of: "=") else {
                problems.append("--data \(pair): it must be key=value")
                continue
            }
            let key = String(pair[..<equals])
            if key == "type" {
                problems.append("--data \(pair): the type is given with --app-type")
            } else if !keys.insert(key).inserted {
                problems.append("--data \(pair): \(key) is given twice")
            }
        }
        if expiresAt != nil, expiresIn != nil { problems.append("--expires-at and --expires-in: give one of them") }
        if let expiresIn, ReplayOptions.maxAge(expiresIn) == nil {
            problems.append(
                "--expires-in \(expiresIn) is not allowed; it must be a duration such as 90s, 15m, 2h or 1d")
        }
        return problems
    }

    /// - Parameter newID: the id, if none is given.
    /// - Throws: if the file of the message cannot be used.
    func draft(now: WallTime, newID: String) throws(CommandFailure) -> RequestDraft {
        let expiry = expiresIn.flatMap(ReplayOptions.maxAge).map { (now + $0).iso8601 }
        return RequestDraft(
            id: requestID ?? newID,
            // A request with an id of its own has the same message id however often it is sent.
            requestedAt: requestID == nil ? now : nil,
            audiences: audience, expiresAt: expiresAt ?? expiry, collapseKey: collapseKey, priority: priority,
            content: try content())
    }

    private func content() throws(CommandFailure) -> RequestDraft.Content {
        if let message { return .message(try Self.object(in: message)) }
        let pairs = data.map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (key: String(parts[0]), value: parts.count == 2 ? String(parts[1]) : "")
        }
        return .app(type: appType ?? "", title: title, body: body, imageURL: imageURL, data: pairs)
    }

    /// The JSON object of a file, as it stands there, without what is blank after it.
    private static func object(in file: String) throws(CommandFailure) -> [UInt8] {
        let data: Data
        if file == "-" {
            data = FileHandle.standardInput.readDataToEndOfFile()
        } else {
            guard let content = FileManager.default.contents(atPath: file) else {
                throw CommandFailure(.usage, "--message \(file): the file cannot be read")
            }
            data = content
        }
        guard PushValue(json: data)?.object != nil else {
            throw CommandFailure(
                .usage, "--message \(file): it must hold one JSON object, such as {\"title\":\"Hello\",\"body\":\"…\"}")
        }
        let blank = Array(" \t\r\n".utf8)
        return Array(data.reversed().drop { blank.contains($0) }.reversed())
    }
}
