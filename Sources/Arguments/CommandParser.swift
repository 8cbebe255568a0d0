/// What a command line asks for.
public enum ParseOutcome {
    case run(any ParsableCommand)
    /// Help or version, for standard output.
    case print(String)
    /// All problems, one per line, for standard error; the exit code is 64 (sysexits(3) EX_USAGE).
    case usage(String)
}

/// Parses the command lines of a tree of commands.
public struct CommandParser {
    let root: any ParsableCommand.Type

    public init(_ root: any ParsableCommand.Type) { self.root = root }

    /// - Parameter words: without the program's own name.
    public func parse(_ words: [String]) -> ParseOutcome {
        var help = Help([root])
        var words = words[...]
        while !help.subcommands.isEmpty {
            guard let word = words.first, word != "--help", word != "-h" else { return .print(help.text) }
            if word == "--version" { return .print(root.configuration.version + "\n") }
            if word.hasPrefix("-"), let meant = help.configuration.defaultSubcommand {
                help = Help(help.path + [meant])
                continue
            }
            words = words.dropFirst()
            guard let next = help.subcommands.first(where: { $0.configuration.commandName == word }) else {
                let names = help.shownSubcommands.map { $0.configuration.commandName }
                let isOption = word.hasPrefix("-")
                let tail = hint(word, isOption ? ["--help", "--version"] : names, orList: isOption ? [] : names)
                return .usage(help.problems(["\(word): no such \(isOption ? "option" : "command")" + tail]))
            }
            help = Help(help.path + [next])
        }
        return parse(help, words)
    }

    private func parse(_ help: Help, _ words: ArraySlice<String>) -> ParseOutcome {
        let command = help.path[help.path.count - 1].init()
        var reader = WordReader(declarations: command.declarations, words: words)
        reader.read()
        if reader.wantsHelp { return .print(help.text) }
        if reader.wantsVersion { return .print(root.configuration.version + "\n") }
        let problems = reader.problems.isEmpty ? command.validateAll() : reader.problems
        return problems.isEmpty ? .run(command) : .usage(help.problems(problems))
    }
}

/// Assigns the words of one command to its options and arguments.
private struct WordReader {
    let declarations: [Declaration]
    var words: ArraySlice<String>
    var problems: [String] = []
    var wantsHelp = false
    var wantsVersion = false
    var given: Set<String> = []
    var nextArgument = 0

    mutating func read() {
        var onlyArguments = false
        while let word = words.popFirst() {
            if onlyArguments || Self.isValue(word) {
                readArgument(word)
            } else if word == "--" {
                onlyArguments = true
            } else if word.hasPrefix("--") {
                let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                readOption(parts[0], attached: parts.count == 2 ? parts[1] : nil)
            } else {
                // `-X value`, `-Xvalue`, `-X=value`.
                let rest = word.dropFirst(word.dropFirst(2).first == "=" ? 3 : 2)
                readOption(String(word.prefix(2)), attached: rest.isEmpty ? nil : String(rest))
            }
        }
        for missing in declarations where missing.isRequired && !given.contains(missing.name) {
            problems.append("\(missing.label) is missing: \(missing.help)")
        }
    }

    private mutating func readOption(_ name: String, attached: String?) {
        guard let option = declarations.first(where: { $0.kind.isNamed && $0.names.contains(name) }) else {
            if name == "--help" || name == "-h" {
                wantsHelp = true
                return
            }
            if name == "--version" {
                wantsVersion = true
                return
            }
            return refuse(name, attached: attached)
        }
        if !given.insert(option.name).inserted && !option.isRepeated { problems.append("\(name) is given twice") }
        if !option.kind.takesValue {
            if attached != nil { problems.append("\(name) takes no value") }
            _ = option.store("")
        } else if let attached {
            store(attached, option, name)
        } else if let next = words.first, Self.isValue(next) {
            words.removeFirst()
            store(next, option, name)
        } else {
            problems.append("\(name) needs a value: \(name) <\(option.valueName)>")
        }
    }

    /// No option begins with a digit: `-5` and `-2h` are values.
    private static func isValue(_ word: String) -> Bool {
        word == "-" || !word.hasPrefix("-") || word.dropFirst().first?.isNumber == true
    }

    /// The option that was probably meant counts as given, with its value, so that one typo is one problem.
    private mutating func refuse(_ name: String, attached: String?) {
        let options = declarations.filter(\.kind.isNamed)
        // Any two names of one letter are near.
        let known = (options.flatMap(\.names) + ["--help", "--version"]).filter { $0.hasPrefix("--") }
        problems.append("\(name): no such option" + hint(name, known, orList: []))
        let meant = options.first { $0.names.contains(nearest(to: name, in: known) ?? "") }
        if let meant { given.insert(meant.name) }
        guard attached == nil, let next = words.first, next != "-", Self.isValue(next) else { return }
        // What looks like an option is its value, also where the option is not known: `-2h`.
        if meant?.kind.takesValue ?? next.hasPrefix("-") { words.removeFirst() }
    }

    private mutating func readArgument(_ word: String) {
        let arguments = declarations.filter { !$0.kind.isNamed }
        guard nextArgument < arguments.count else { return problems.append("\(word): unexpected argument") }
        let argument = arguments[nextArgument]
        if !argument.isRepeated { nextArgument += 1 }
        given.insert(argument.name)
        store(word, argument, "<\(argument.valueName)>")
    }

    private mutating func store(_ text: String, _ declaration: Declaration, _ name: String) {
        guard !declaration.store(text) else { return }
        let tail = hint(text, declaration.allowed, orList: declaration.allowed)
        problems.append(
            "\(name): '\(text)' is not allowed" + (tail.isEmpty ? "; expected \(declaration.expected)" : tail))
    }
}

/// `; did you mean x?`, else `; one of: …`, else nothing.
private func hint(_ word: String, _ candidates: [String], orList list: [String]) -> String {
    if let match = nearest(to: word, in: candidates) { return "; did you mean \(match)?" }
    return list.isEmpty ? "" : "; one of: " + list.joined(separator: ", ")
}
