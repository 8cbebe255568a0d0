import API
import Arguments
import Broadcasts
import Pipeline
import Registrar
import Sender

/// The value of `--roles`: names, or `all`.
struct RoleChoice: ExpressibleByArgument {
    /// nil: every role whose settings are there.
    private var names: [RoleName]?

    static let expected =
        "all, or of \(RoleName.allCases.map(\.rawValue).joined(separator: ", ")) some with commas between"
    static let words = RoleName.allCases.map(\.rawValue) + ["all"]
    static let all = RoleChoice(names: nil)
    static let pipeline = RoleChoice(names: [.pipeline])
    static let api = RoleChoice(names: [.api])

    var argumentText: String { names.map { $0.map(\.rawValue).joined(separator: ",") } ?? "all" }

    private init(names: [RoleName]?) {
        self.names = names
    }

    init?(argument: String) {
        if argument == "all" {
            names = nil
            return
        }
        let words = argument.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let found = words.compactMap(RoleName.init(code:))
        guard found.count == words.count, Set(found).count == found.count else { return nil }
        names = found
    }

    func includes(_ role: RoleName) -> Bool { names?.contains(role) ?? true }

    /// The roles, in the order in which an event passes them.
    ///
    /// - Throws: all that are named and have no settings.
    func roles(_ configuration: PipelineConfiguration) throws(CommandFailure) -> [RoleName] {
        let missing = RoleName.allCases.compactMap { role in role.missingSetting(of: configuration).map { (role, $0) } }
        guard let names else {
            // An API with an address and without a key is a mistake.
            let isMistaken = configuration.api.http != nil && missing.contains { $0.0 == .api }
            guard !isMistaken else {
                throw CommandFailure(
                    .configuration, lines: missing.filter { $0.0 == .api }.map { "--roles all: \($0.1)" })
            }
            return RoleName.allCases.filter { role in !missing.contains { $0.0 == role } }
        }
        let lines = missing.filter { names.contains($0.0) }.map { "--roles \($0.0): \($0.1)" }
        guard lines.isEmpty else { throw CommandFailure(.configuration, lines: lines) }
        return RoleName.allCases.filter(names.contains)
    }
}

extension RoleName {
    /// Why these settings have nothing for the role to do; nil if they have.
    func missingSetting(of configuration: PipelineConfiguration) -> String? {
        switch self {
        case .pipeline: nil
        case .broadcasts: BroadcastService.missingSetting(of: configuration)
        case .deliver: SenderService.missingSetting(of: configuration)
        case .registrar: RegistrarService.missingSetting(of: configuration)
        case .api: APIService.missingSetting(of: configuration)
        }
    }
}
