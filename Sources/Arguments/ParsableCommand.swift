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

/// Commands that help lists under one heading.
public struct CommandGroup: Sendable {
    let title: String
    let commands: [any ParsableCommand.Type]

    public init(_ title: String, _ commands: [any ParsableCommand.Type]) {
        self.title = title
        self.commands = commands
    }
}

/// What `--help` says of a command.
public struct CommandConfiguration: Sendable {
    public typealias Example = (command: String, meaning: String)
    let commandName: String
    let abstract: String
    let discussion: String
    let examples: [Example]
    let version: String
    let groups: [CommandGroup]
    var subcommands: [any ParsableCommand.Type] { groups.flatMap(\.commands) }
    /// Where more is said; empty for nowhere.
    let pages: String
    let defaultSubcommand: (any ParsableCommand.Type)?
    /// Not listed in help and completion, and not suggested.
    public let isHidden: Bool

    /// - Parameters:
    ///   - subcommands: under one heading; in their place `groups` has several.
    ///   - pages: where more is said, at the end of the help.
    ///   - version: what `--version` prints; of the root command only.
    ///   - defaultSubcommand: the one that is meant if options come in its place.
    ///   - isHidden: for a command of tests, which help and completion do not list.
    public init(
        commandName: String, abstract: String, discussion: String = "", examples: [Example], version: String = "",
        subcommands: [any ParsableCommand.Type] = [], groups: [CommandGroup] = [], pages: String = "",
        defaultSubcommand: (any ParsableCommand.Type)? = nil, isHidden: Bool = false
    ) {
        self.commandName = commandName
        self.abstract = abstract
        self.discussion = discussion
        self.examples = examples
        self.version = version
        self.groups = subcommands.isEmpty ? groups : [CommandGroup("Commands", subcommands)] + groups
        self.pages = pages
        self.defaultSubcommand = defaultSubcommand
        self.isHidden = isHidden
    }
}
