import Arguments
import Pipeline

/// `carillon check-config`
struct CheckConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Show every setting, its value and where it came from; secrets are redacted.",
        discussion: "Ends with 78 and a line for each problem if the configuration cannot be used.",
        examples: [
            ("carillon check-config --config carillon.properties", "The settings that 'run' would use."),
            ("carillon check-config --kafka-config ~/.config/kcat.conf --json", "The same as one JSON document."),
            ("carillon check-config --set commit.interval=20ms", "Try a setting."),
        ])

    @OptionGroup(title: "Configuration") var options: ConfigurationOptions
    @Flag(help: "Print one JSON document.") var json: Bool

    func run() async throws {
        let loaded = options.load()
        Terminal.write(
            json ? try JSONOutput.text(ConfigurationReport(loaded), keys: .useDefaultKeys) : Self.text(loaded))
        _ = try loaded.checked()
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

    init(_ loaded: LoadedConfiguration) {
        settings = loaded.settings.map { Entry(key: $0.key, value: $0.value, source: $0.source.description) }
        ignoredVariables = loaded.ignoredVariables
        problems = loaded.problems.map(\.description)
    }
}
