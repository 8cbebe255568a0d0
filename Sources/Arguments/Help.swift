/// The help of the command at the end of a path.
struct Help {
    let path: [any ParsableCommand.Type]
    var name: String { path.map { $0.configuration.commandName }.joined(separator: " ") }
    var configuration: CommandConfiguration { path[path.count - 1].configuration }
    var subcommands: [any ParsableCommand.Type] { configuration.subcommands }
    var shownSubcommands: [any ParsableCommand.Type] { subcommands.filter { !$0.configuration.isHidden } }
    var declarations: [Declaration] { path[path.count - 1].init().declarations }

    init(_ path: [any ParsableCommand.Type]) { self.path = path }

    func problems(_ problems: [String]) -> String {
        problems.map { "\(name): \($0)\n" }.joined() + "See '\(name) --help'.\n"
    }

    var text: String {
        // A command may be left out, with the options of the one that is meant then.
        let meant = configuration.defaultSubcommand.map { Help(path + [$0]) }
        let declarations = meant?.declarations ?? declarations
        let arguments = declarations.filter { !$0.kind.isNamed }
        let options = declarations.filter(\.kind.isNamed)
        var text = configuration.abstract + "\n\nUsage: " + name
        text += subcommands.isEmpty ? options.filter(\.isRequired).map { " " + $0.label }.joined() : ""
        text += meant != nil ? " [<command>]" : subcommands.isEmpty ? "" : " <command>"
        text += meant != nil || subcommands.isEmpty ? " [options]" : ""
        text += arguments.map { $0.isRequired ? " \($0.label)" : " [\($0.label)]" }.joined() + "\n"
        if !configuration.discussion.isEmpty { text += "\n" + wrapped(configuration.discussion, indent: 0) + "\n" }
        for group in configuration.groups {
            text += section(
                group.title,
                group.commands.filter { !$0.configuration.isHidden }.map { (label(of: $0), $0.configuration.abstract) })
        }
        text += section("Arguments", arguments.map(row))
        let common = [("-h, --help", "Show this help."), ("--version", "Show the version.")]
        let title = meant.map { "Options of '\($0.configuration.commandName)'" } ?? "Options"
        text += section(title, options.filter { $0.section.isEmpty }.map(row) + common)
        var titles: [String] = []
        for option in options where !titles.contains(option.section) { titles.append(option.section) }
        for title in titles where !title.isEmpty {
            text += section(title, options.filter { $0.section == title }.map(row))
        }
        let examples = meant?.configuration.examples ?? configuration.examples
        text += "\nExamples:\n" + examples.map { "  \($0.command)\n      \($0.meaning)\n" }.joined()
        return text + (configuration.pages.isEmpty ? "" : "\nMore: \(configuration.pages)\n")
    }

    private func label(of subcommand: any ParsableCommand.Type) -> String {
        let isDefault = configuration.defaultSubcommand.map { $0 == subcommand } ?? false
        return subcommand.configuration.commandName + (isDefault ? " (default)" : "")
    }

    private func row(_ declaration: Declaration) -> (String, String) {
        var text = declaration.help
        if !declaration.allowed.isEmpty { text += " One of: \(declaration.allowed.joined(separator: ", "))." }
        if !declaration.defaultText.isEmpty { text += " Default: \(declaration.defaultText)." }
        return (declaration.label, text + (declaration.isRepeated ? " Can be repeated." : ""))
    }

    private func section(_ title: String, _ rows: [(label: String, text: String)]) -> String {
        let indent = 32
        return rows.reduce(rows.isEmpty ? "" : "\n\(title):\n") { text, row in
            let label = "  " + row.label
            let lines = wrapped(row.text, indent: indent)
            let start = label.count < indent ? label + lines.dropFirst(label.count) : label + "\n" + lines
            return text + start + "\n"
        }
    }

    private func wrapped(_ text: String, indent: Int, width: Int = 100) -> String {
        var lines = [""]
        for word in text.split(separator: " ") {
            let line = lines.removeLast()
            let fits = line.isEmpty || line.count + word.count + 1 <= width - indent
            lines += fits ? [line + (line.isEmpty ? "" : " ") + word] : [line, String(word)]
        }
        return lines.map { String(repeating: " ", count: indent) + $0 }.joined(separator: "\n")
    }
}
