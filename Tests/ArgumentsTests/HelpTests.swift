import Testing

@testable import Arguments

@Suite struct HelpTests {
    private func printed(_ words: String...) -> String? {
        guard case .print(let text) = CommandParser(SampleCommand.self).parse(words) else { return nil }
        return text
    }

    @Test("a command with subcommands prints its help when none is given", arguments: [[], ["-h"], ["--help"]])
    func root(_ words: [String]) {
        guard case .print(let text) = CommandParser(SampleCommand.self).parse(words) else {
            Issue.record("no help")
            return
        }
        #expect(text.hasPrefix("A sample.\n\nUsage: sample <command>\n"))
        #expect(text.contains("\n  paint                         Paint things.\n"))
    }

    @Test("a hidden command runs, and neither help nor completion nor a suggestion names it")
    func hidden() {
        guard case .run(let command) = parse("hidden") else {
            Issue.record("it does not run")
            return
        }
        #expect(command is HiddenCommand)
        #expect(printed()?.contains("idden") == false)
        #expect(problems("hiden") == ["sample: hiden: no such command; one of: paint, tools", "See 'sample --help'."])
        for shell in CompletionShell.allCases {
            #expect(!CompletionScript(SampleCommand.self).text(for: shell).contains("hidden"))
        }
    }

    @Test("help of a command shows usage, values, defaults, groups and examples")
    func command() throws {
        let text = try #require(printed("paint", "--help"))
        #expect(text.contains("Usage: sample paint -c, --colour <colour> [options] <thing> [<others>…]\n"))
        #expect(text.contains("\nA long story.\n"))
        #expect(text.contains("  -c, --colour <colour>         The colour. One of: red, green, blue.\n"))
        #expect(text.contains("  --coat-count <coat-count>     Coats of paint. Default: 2.\n"))
        #expect(text.contains("  -X <extra>                    Anything. Can be repeated.\n"))
        #expect(text.contains("\nShared:\n  --folder <folder>             Where to look.\n"))
        #expect(text.hasSuffix("\nExamples:\n  sample paint --colour red house\n      A red house.\n"))
    }

    @Test("commands are listed under their groups' titles, in their order, and at the end stands where more is said")
    func groups() {
        guard case .print(let text) = CommandParser(GroupedCommand.self).parse([]) else {
            Issue.record("no help")
            return
        }
        let lines = text.split(separator: "\n").map { $0.trimmingPrefix("  ").prefix { $0 != " " } }
        let listed = ["See:", "show", "look", "Change:", "paint", "Options:"]
        #expect(lines.filter { listed.contains(String($0)) }.map(String.init) == listed)
        #expect(text.hasSuffix("\nMore: pages.md\n"))
        if case .run(let command) = CommandParser(GroupedCommand.self).parse(["look"]) {
            #expect(command is LookCommand)
        } else {
            Issue.record("a command of a group is not found")
        }
    }

    @Test("the help of a command with a default one has that one's options and examples, and names them as such")
    func defaultCommand() {
        guard case .print(let text) = CommandParser(EyesCommand.self).parse(["--help"]) else {
            Issue.record("no help")
            return
        }
        #expect(text.contains("Usage: eyes [<command>] [options]\n"))
        #expect(text.contains("\nOptions of 'look':\n  --far                         Far away.\n"))
        #expect(text.hasSuffix("\nExamples:\n  eyes look --far\n      Far.\n"))
    }

    @Test("help wins over problems of the same command line")
    func helpWins() {
        #expect(printed("paint", "--bogus", "--help") != nil)
    }

    @Test("the version is printed from anywhere")
    func version() {
        #expect(printed("--version") == "sample 1.2.3\n")
        #expect(printed("paint", "--version") == "sample 1.2.3\n")
    }

    @Test("no line of help is longer than 100 columns where words allow it")
    func width() throws {
        let text = try #require(printed("paint", "--help"))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }
}
