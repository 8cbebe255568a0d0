import Foundation

extension PipelineConfiguration {
    /// The host's name; `carillon` where it has none.
    public static var defaultInstanceID: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "carillon" }
        let text = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return text.isEmpty ? "carillon" : text
    }

    /// One for each core that the process may use.
    public static var defaultWorkers: Int {
        max(1, ProcessInfo.processInfo.activeProcessorCount)
    }

    /// The folder that holds one folder for each group and instance.
    ///
    /// The first of: `$STATE_DIRECTORY` (systemd's `StateDirectory=`), `$XDG_STATE_HOME/carillon`,
    /// `/var/lib/carillon` if this process may write there, `$HOME/.local/state/carillon`. nil where there is none.
    static func stateBase(environment: [String: String]) -> String? {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }

        if let folder = value("STATE_DIRECTORY")?.split(separator: ":").first { return String(folder) }
        if let folder = value("XDG_STATE_HOME") { return folder + "/carillon" }
        if access("/var/lib/carillon", W_OK) == 0 { return "/var/lib/carillon" }
        return value("HOME").map { $0 + "/.local/state/carillon" }
    }
}

extension Duration {
    static func days(_ days: Int) -> Duration { .seconds(days * 86_400) }
}
