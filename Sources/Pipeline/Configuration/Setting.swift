import Foundation
import JSONReader
import NotificationPayload

/// One setting: what it is called, what it may be, and where it goes.
public struct Setting: Sendable {
    /// As in a file: `commit.interval`.
    public let key: String
    public let defaultValue: Default
    /// What a value may be, for a person: `a duration from 1ms to 10s`.
    public let allowed: String
    /// What it does, in Markdown, as docs/settings.md shows it.
    public let summary: String
    /// Puts a value into the configuration.
    let read: @Sendable (String, inout ConfigurationDraft) throws(InvalidValue) -> Void

    public enum Default: Equatable, Sendable {
        case value(String)
        /// Computed at the start; the text says from what.
        case computed(String)
        case none
    }

    /// The environment variable: `CARILLON_COMMIT_INTERVAL`.
    public var variable: String {
        "CARILLON_"
            + String(key.uppercased().map { $0 == "." || $0 == "-" ? "_" : $0 })
    }
}

/// A configuration while it is being read: the rules are made last, from several settings.
struct ConfigurationDraft: Sendable {
    var configuration: PipelineConfiguration
    /// When the program was started.
    var now: WallTime
    var stateDirectory: String?
    var timeZone = "UTC"
    var placeTimeZones: [String: String] = [:]
    var onMissingOrderID = ExtractionRules.MissingOrderID.send
    var infersStatusChanges = false
    var audiences = [AudienceTemplate.place]
    /// Of the types that have their own.
    var ownAudiences: [EventType: [AudienceTemplate]] = [:]
    var members = MemberMapping.none
    var types = EventTypes.none
    var isScheduled = true
    /// How timers are sent, where ``isScheduled``.
    var schedule = ScheduleRules()
    var displaysOrders = false
    /// The texts of order pushes, sent where ``displaysOrders``.
    var displayTemplates: DisplayTemplates?
}

/// A file that a value names.
struct GivenFile {
    var path: String
    var bytes: [UInt8]

    var folder: String { URL(fileURLWithPath: path).deletingLastPathComponent().path }
}

extension Setting {
    typealias Path<Value> = WritableKeyPath<ConfigurationDraft, Value> & Sendable

    static func duration(
        _ key: String, _ path: Path<Duration>, default value: String, _ range: ClosedRange<Duration>, _ summary: String
    ) -> Setting {
        let bounds = "\(ConfigurationText.text(range.lowerBound)) to \(ConfigurationText.text(range.upperBound))"
        let allowed = "a duration from \(bounds), such as \(value)"
        return Setting(key: key, defaultValue: .value(value), allowed: allowed, summary: summary) {
            text, draft throws(InvalidValue) in
            guard let duration = ConfigurationText.duration(text), range.contains(duration) else {
                throw InvalidValue(allowed: allowed)
            }
            draft[keyPath: path] = duration
        }
    }

    static func integer(
        _ key: String, _ path: Path<Int>, default value: Default, _ range: ClosedRange<Int>, _ summary: String
    ) -> Setting {
        let allowed = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        return Setting(key: key, defaultValue: value, allowed: allowed, summary: summary) {
            text, draft throws(InvalidValue) in
            guard let number = Int(text), range.contains(number) else { throw InvalidValue(allowed: allowed) }
            draft[keyPath: path] = number
        }
    }

    static func boolean(_ key: String, _ path: Path<Bool>, default value: String, _ summary: String) -> Setting {
        let allowed = "true or false"
        return Setting(key: key, defaultValue: .value(value), allowed: allowed, summary: summary) {
            text, draft throws(InvalidValue) in
            guard let flag = ConfigurationText.boolean(text) else { throw InvalidValue(allowed: allowed) }
            draft[keyPath: path] = flag
        }
    }

    /// A name of a topic, a group or a member.
    static func name(_ key: String, _ path: Path<String>, default value: Default, _ summary: String) -> Setting {
        let allowed = "letters, digits, '.', '_' and '-', at most 200"
        return Setting(key: key, defaultValue: value, allowed: allowed, summary: summary) {
            text, draft throws(InvalidValue) in
            guard ConfigurationText.isName(text) else { throw InvalidValue(allowed: allowed) }
            draft[keyPath: path] = text
        }
    }

    /// A name of something that there need not be; empty, which is the default, is none.
    static func optionalName(_ key: String, _ path: Path<String>, _ summary: String) -> Setting {
        let allowed = "empty, or letters, digits, '.', '_' and '-', at most 200"
        return Setting(key: key, defaultValue: .value(""), allowed: allowed, summary: summary) {
            text, draft throws(InvalidValue) in
            guard text.isEmpty || ConfigurationText.isName(text) else { throw InvalidValue(allowed: allowed) }
            draft[keyPath: path] = text
        }
    }

    /// One of some words.
    static func choice<Value: Sendable>(
        _ key: String, _ path: Path<Value>, default value: Default, _ words: KeyValuePairs<String, Value>,
        _ summary: String
    ) -> Setting {
        choice(key, path, default: value, words.map { (word: $0.key, value: $0.value) }, summary)
    }

    static func choice<Value: Sendable>(
        _ key: String, _ path: Path<Value>, default value: Default, _ words: [(word: String, value: Value)],
        _ summary: String
    ) -> Setting {
        let allowed = "one of " + words.map(\.word).joined(separator: ", ")
        return Setting(key: key, defaultValue: value, allowed: allowed, summary: summary) {
            text, draft throws(InvalidValue) in
            guard let match = words.first(where: { $0.word == text.lowercased() }) else {
                throw InvalidValue(allowed: allowed)
            }
            draft[keyPath: path] = match.value
        }
    }

    /// One of the cases, by its raw value.
    static func choice<Value: CaseIterable & RawRepresentable<String> & Sendable>(
        _ key: String, _ path: Path<Value>, default value: Default, _ summary: String
    ) -> Setting {
        choice(key, path, default: value, Value.allCases.map { (word: $0.rawValue, value: $0) }, summary)
    }

    /// A file that is read at the start; `@` and its path, or empty.
    ///
    /// - Parameters:
    ///   - read: takes the file, nil where the value is empty.
    static func file(
        _ key: String, allowed: String, _ summary: String,
        _ read: @escaping @Sendable (GivenFile?, inout ConfigurationDraft) throws(InvalidForm) -> Void
    ) -> Setting {
        Setting(key: key, defaultValue: .none, allowed: allowed, summary: summary) {
            text, draft throws(InvalidValue) in
            var file: GivenFile?
            if !text.isEmpty {
                guard text.hasPrefix("@") else { throw InvalidValue(allowed: allowed) }
                let path = String(text.dropFirst())
                guard let data = FileManager.default.contents(atPath: path) else {
                    throw InvalidValue(allowed: allowed, reason: unreadable(path))
                }
                file = GivenFile(path: path, bytes: Array(data))
            }
            do throws(InvalidForm) {
                try read(file, &draft)
            } catch {
                throw InvalidValue(allowed: "\(allowed); \(error.problems.joined(separator: "; "))")
            }
        }
    }

    /// Why a file cannot be read, with the path that a relative one stands for.
    private static func unreadable(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        let reason = descriptor < 0 ? String(cString: strerror(errno)) : "it is no file"
        if descriptor >= 0 { close(descriptor) }
        return "cannot be read: \(URL(fileURLWithPath: path).path): \(reason)"
    }

    static func custom(
        _ key: String, default value: Default, allowed: String, _ summary: String,
        _ read: @escaping @Sendable (String, inout ConfigurationDraft) -> Bool
    ) -> Setting {
        Setting(key: key, defaultValue: value, allowed: allowed, summary: summary) {
            text, draft throws(InvalidValue) in
            guard read(text, &draft) else { throw InvalidValue(allowed: allowed) }
        }
    }
}
