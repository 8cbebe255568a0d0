/// One thing that is wrong with the configuration.
public struct ConfigurationProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The flag, variable, file and line, or setting that it is about.
    public var subject: String
    /// What is wrong, with the value and what is allowed. Never with the value of a secret.
    public var message: String
    /// Whether it is about a flag's value, so that the command line is wrong and not the configuration.
    public var isOfFlag: Bool

    package init(subject: String, message: String, isOfFlag: Bool = false) {
        self.subject = subject
        self.message = message
        self.isOfFlag = isOfFlag
    }

    public var description: String { "\(subject): \(message)" }
}

/// All problems of a configuration at once.
public struct ConfigurationProblems: Error, Sendable, CustomStringConvertible {
    public var problems: [ConfigurationProblem]

    package init(problems: [ConfigurationProblem]) {
        self.problems = problems
    }

    /// A line each.
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// Where the value of a setting came from.
public enum SettingSource: Equatable, Sendable, CustomStringConvertible {
    case `default`
    case file(String, line: Int)
    case environment(String)
    case flag(String)

    var isFlag: Bool {
        switch self {
        case .default, .file, .environment: false
        case .flag: true
        }
    }

    public var description: String {
        switch self {
        case .default: "default"
        case .file(let path, let line): "\(path):\(line)"
        case .environment(let name): "$\(name)"
        case .flag(let name): name
        }
    }
}

/// A setting's value as the pipeline runs with it.
public struct EffectiveSetting: Equatable, Sendable {
    public var key: String
    /// As it would be written in a file; `<redacted>` for a secret, nil where nothing is set.
    public var value: String?
    public var source: SettingSource
}
