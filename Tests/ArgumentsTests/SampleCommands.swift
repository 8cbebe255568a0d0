import Arguments

enum Colour: String, CaseIterable, ExpressibleByArgument {
    case red, green, blue
}

struct SharedOptions: ParsableArguments {
    @Option(help: "Where to look.", valueName: "folder", completion: .file) var folder: String?

    func validate() -> [String] { folder == "nowhere" ? ["--folder nowhere: there is no such place"] : [] }
}

struct PaintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "paint", abstract: "Paint things.", discussion: "A long story.",
        examples: [("sample paint --colour red house", "A red house.")])

    @Option(name: [.customShort("c"), .long], help: "The colour.") var colour: Colour
    @Option(help: "Coats of paint.") var coatCount = 2
    @Option(name: [.customShort("X")], help: "Anything.") var extra: [String] = []
    @Flag(help: "Only say it.") var dryRun: Bool
    @Argument(help: "What to paint.") var thing: String
    @Argument(help: "More.") var others: [String]
    @OptionGroup(title: "Shared") var shared: SharedOptions

    func validate() -> [String] { coatCount < 0 ? ["--coat-count must not be negative"] : [] }
}

struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show 'everything': it's there.", examples: [("sample show", "It.")])
}

struct ToolsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tools", abstract: "Tools.", examples: [("sample tools show", "It.")],
        subcommands: [ShowCommand.self])
}

struct HiddenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hidden", abstract: "Hidden.", examples: [("sample hidden", "It.")], isHidden: true)
}

struct LookCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "look", abstract: "Look.", examples: [("eyes look --far", "Far.")])

    @Flag(help: "Far away.") var far: Bool
}

struct EyesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "eyes", abstract: "Eyes.", examples: [("eyes --far", "Far.")], version: "eyes 1",
        subcommands: [ShowCommand.self, LookCommand.self], defaultSubcommand: LookCommand.self)
}

struct GroupedCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grouped", abstract: "Grouped.", examples: [("grouped look", "Look.")],
        groups: [
            CommandGroup("See", [ShowCommand.self, LookCommand.self]), CommandGroup("Change", [PaintCommand.self]),
        ], pages: "pages.md")
}

struct SampleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sample", abstract: "A sample.", examples: [("sample paint", "Paint.")], version: "sample 1.2.3",
        subcommands: [PaintCommand.self, ToolsCommand.self, HiddenCommand.self])
}

func parse(_ words: String...) -> ParseOutcome { CommandParser(SampleCommand.self).parse(words) }

func paint(_ words: String...) -> PaintCommand? {
    guard case .run(let command) = CommandParser(SampleCommand.self).parse(["paint"] + words) else { return nil }
    return command as? PaintCommand
}

/// The lines of the problems; empty if there were none.
func problems(_ words: String...) -> [String] {
    guard case .usage(let text) = CommandParser(SampleCommand.self).parse(words) else { return [] }
    return text.split(separator: "\n").map(String.init)
}
