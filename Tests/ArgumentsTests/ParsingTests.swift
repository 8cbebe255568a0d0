import Testing

@testable import Arguments

@Suite struct ParsingTests {
    @Test(
        "options are read in every spelling",
        arguments: [["--colour", "red"], ["--colour=red"], ["-c", "red"], ["-cred"], ["-c=red"]])
    func spellings(_ words: [String]) throws {
        guard case .run(let command) = CommandParser(SampleCommand.self).parse(["paint"] + words + ["house"]) else {
            Issue.record("not parsed: \(words)")
            return
        }
        #expect((command as? PaintCommand)?.colour == .red)
    }

    @Test("defaults, flags, repeated options and the rest of the arguments land where they belong")
    func values() throws {
        let command = try #require(paint("-c", "blue", "house", "-X", "a=1", "--dry-run", "-Xb=2", "fence", "gate"))
        #expect(command.colour == .blue)
        #expect(command.coatCount == 2)
        #expect(command.extra == ["a=1", "b=2"])
        #expect(command.dryRun)
        #expect(command.thing == "house")
        #expect(command.others == ["fence", "gate"])
        #expect(command.shared.folder == nil)
    }

    @Test("two command lines do not share values")
    func isolation() throws {
        let first = try #require(paint("-c", "red", "house", "--folder", "/a"))
        let second = try #require(paint("-c", "green", "fence"))
        #expect(first.colour == .red)
        #expect(first.shared.folder == "/a")
        #expect(second.shared.folder == nil)
        #expect(second.others.isEmpty)
    }

    @Test("after -- a word with hyphens is an argument, and a single - always is")
    func terminator() throws {
        #expect(paint("-c", "red", "--", "--house")?.thing == "--house")
        #expect(paint("-c", "red", "-")?.thing == "-")
    }

    @Test("what comes after -- is left as it is: options of another command, --help and another --")
    func passedThrough() throws {
        let command = try #require(
            paint("-c", "red", "--", "run", "--colour", "blue", "--help", "--", "-c=x", "--dry-run"))
        #expect(command.thing == "run")
        #expect(command.others == ["--colour", "blue", "--help", "--", "-c=x", "--dry-run"])
        #expect(command.colour == .red)
        #expect(!command.dryRun)
    }

    @Test("a value that begins with a hyphen is read after =, a negative number or time always")
    func hyphenValues() throws {
        #expect(paint("-c", "red", "house", "--folder", "-2h")?.shared.folder == "-2h")
        #expect(paint("-c", "red", "house", "--folder=-x")?.shared.folder == "-x")
        #expect(
            problems("paint", "-c", "red", "house", "--coat-count", "-1") == [
                "sample paint: --coat-count must not be negative", "See 'sample paint --help'.",
            ])
    }

    @Test("all problems are reported at once")
    func everything() {
        let lines = problems("paint", "--colour", "purple", "--coat-count", "many", "--dry-run=yes", "--folder")
        #expect(
            lines == [
                "sample paint: --colour: 'purple' is not allowed; one of: red, green, blue",
                "sample paint: --coat-count: 'many' is not allowed; expected a number",
                "sample paint: --dry-run takes no value",
                "sample paint: --folder needs a value: --folder <folder>",
                "sample paint: <thing> is missing: What to paint.",
                "See 'sample paint --help'.",
            ])
    }

    @Test("a required option that is missing is named with its help")
    func missing() {
        #expect(problems("paint", "house").first == "sample paint: -c, --colour <colour> is missing: The colour.")
    }

    @Test("a single option given twice is a problem, by whichever names")
    func twice() {
        #expect(
            problems("paint", "-c", "red", "--colour", "red", "house").first == "sample paint: --colour is given twice")
    }

    @Test("the problems of a group of options are found without the command's help")
    func groups() {
        #expect(
            problems("paint", "-c", "red", "house", "--folder", "nowhere").first
                == "sample paint: --folder nowhere: there is no such place")
    }

    @Test("a misspelt command, option or value gets a suggestion")
    func suggestions() {
        #expect(problems("pant").first == "sample: pant: no such command; did you mean paint?")
        #expect(problems("tools", "shwo").first == "sample tools: shwo: no such command; did you mean show?")
        #expect(problems("xyzzy").first == "sample: xyzzy: no such command; one of: paint, tools")
        #expect(problems("--hepl").first == "sample: --hepl: no such option; did you mean --help?")
        #expect(
            problems("paint", "-c", "gren", "x").first == "sample paint: -c: 'gren' is not allowed; did you mean green?"
        )
    }

    @Test("options in place of a command are those of the default command")
    func defaultCommand() {
        let parser = CommandParser(EyesCommand.self)
        if case .run(let command as LookCommand) = parser.parse(["--far"]) {
            #expect(command.far)
        } else {
            Issue.record("--far is not read")
        }
        if case .run(let command) = parser.parse(["show"]) { #expect(command is ShowCommand) }
        for words in [[], ["--help"], ["-h"]] {
            guard case .print(let text) = parser.parse(words) else {
                Issue.record("\(words) is not help")
                continue
            }
            #expect(text.contains("  look (default)") && text.contains("  show  "))
        }
        if case .print(let text) = parser.parse(["--version"]) { #expect(text == "eyes 1\n") }
        let slips = [
            "--fra": "eyes look: --fra: no such option; did you mean --far?\n", "far": "eyes: far: no such command",
        ]
        for (word, problem) in slips {
            guard case .usage(let text) = parser.parse([word]) else {
                Issue.record("\(word) is read")
                continue
            }
            #expect(text.hasPrefix(problem))
        }
    }

    @Test("a misspelt option takes its value along: one typo is one problem")
    func oneSlip() {
        #expect(
            problems("paint", "--color", "red", "house") == [
                "sample paint: --color: no such option; did you mean --colour?", "See 'sample paint --help'.",
            ])
    }

    @Test("what looks like an option is the value of one that is unknown, and suggests none of one letter")
    func unknownWithTime() {
        #expect(
            problems("paint", "--zebra", "-1h", "-c", "red", "house") == [
                "sample paint: --zebra: no such option", "See 'sample paint --help'.",
            ])
        #expect(
            problems("paint", "-y", "-c", "red", "house") == [
                "sample paint: -y: no such option", "See 'sample paint --help'.",
            ])
    }

    @Test("an argument too many is a problem")
    func tooMany() {
        #expect(problems("tools", "show", "this").first == "sample tools show: this: unexpected argument")
    }

    @Test("edit distance counts a swap of neighbours once")
    func distance() {
        #expect(editDistance("topics", "topisc") == 1)
        #expect(editDistance("", "abc") == 3)
        #expect(editDistance("kitten", "sitting") == 3)
        #expect(nearest(to: "a", in: []) == nil)
    }
}
