import Arguments
import Pipeline

/// `carillon check-config`
struct CheckConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Show every setting, its value and where it came from; secrets are redacted.",
        discussion: """
            Ends with 78 and a line for each problem if the configuration cannot be used. With delivery.credentials the \
            files of the credentials are read and checked, too; 'carillon deliver --check' asks the providers.
            """,
        examples: [
            ("carillon check-config --config carillon.properties", "The settings that 'run' would use."),
            ("carillon check-config --kafka-config ~/.config/kcat.conf --json", "The same as one JSON document."),
            ("carillon check-config --set commit.interval=20ms", "Try a setting."),
        ])

    @OptionGroup(title: "Configuration") var options: ConfigurationOptions
    @OptionGroup(title: "Configuration") var process: InstanceOption
    @OptionGroup(title: "Configuration") var folder: StateFolderOption
    @Flag(help: "Print one JSON document.") var json: Bool

    func run() async throws {
        let loaded = options.load(adding: process.flags + folder.flags)
        let credentials = (try? loaded.checked()).map { CredentialsCheck($0) }
        let problems = loaded.problems + (credentials?.problems ?? [])
        let warnings = credentials?.warnings ?? []
        if json {
            let report = ConfigurationReport(loaded, problems, warnings)
            Terminal.write(try JSONOutput.text(report, keys: .useDefaultKeys))
        } else {
            Terminal.write(Self.text(loaded))
            for warning in warnings { Terminal.warn("warning: \(warning)") }
        }
        guard problems.isEmpty else { throw ConfigurationProblems(problems: problems) }
    }

    static func text(_ loaded: LoadedConfiguration) -> String {
        var table = TextTable(["SETTING", "VALUE", "SOURCE"])
        for setting in loaded.settings {
            table.append([setting.key, setting.value.map { $0.isEmpty ? "\"\"" : $0 } ?? "-", "\(setting.source)"])
        }
        let ignored = loaded.ignoredVariables.joined(separator: ", ")
        return table.text + (ignored.isEmpty ? "" : "\nIgnored environment variables: \(ignored)\n")
    }
}

/// The document of `check-config --json`. Scripts rely on its member names: `ignoredVariables`.
private struct ConfigurationReport: Encodable {
    struct Entry: Encodable {
        var key: String
        var value: String?
        var source: String
    }

    var settings: [Entry]
    var ignoredVariables: [String]
    var problems: [String]
    var warnings: [String]

    init(_ loaded: LoadedConfiguration, _ problems: [ConfigurationProblem], _ warnings: [String]) {
        settings = loaded.settings.map { Entry(key: $0.key, value: $0.value, source: $0.source.description) }
        ignoredVariables = loaded.ignoredVariables
        self.problems = problems.map(\.description)
        self.warnings = warnings
    }
}
