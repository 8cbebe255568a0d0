/// Options, flags and arguments, declared as properties with ``Option``, ``Flag``, ``Argument`` and ``OptionGroup``.
public protocol ParsableArguments: SendableMetatype {
    init()
    /// The problems of the values taken together, one per line. Called if each value by itself is valid.
    func validate() -> [String]
}

/// A command. One with subcommands only leads to them and has no options of its own.
public protocol ParsableCommand: ParsableArguments {
    static var configuration: CommandConfiguration { get }
    func run() async throws
}

extension ParsableArguments {
    public func validate() -> [String] { [] }
}

extension ParsableCommand {
    public func run() async throws {}
}

/// What `--help` says of a command.
public struct CommandConfiguration: Sendable {
    public typealias Example = (command: String, meaning: String)
    let commandName: String
    let abstract: String
    let discussion: String
    let examples: [Example]
    let version: String
    let subcommands: [any ParsableCommand.Type]
    let defaultSubcommand: (any ParsableCommand.Type)?

    /// - Parameters:
    ///   - version: what `--version` prints; of the root command only.
    ///   - defaultSubcommand: the one that is meant if options come in its place.
    public init(
        commandName: String, abstract: String, discussion: String = "", examples: [Example], version: String = "",
        subcommands: [any ParsableCommand.Type] = [], defaultSubcommand: (any ParsableCommand.Type)? = nil
    ) {
        self.commandName = commandName
        self.abstract = abstract
        self.discussion = discussion
        self.examples = examples
        self.version = version
        self.subcommands = subcommands
        self.defaultSubcommand = defaultSubcommand
    }
}
