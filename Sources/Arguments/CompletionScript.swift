/// The shells that a completion script can be made for.
public enum CompletionShell: String, CaseIterable, ExpressibleByArgument, Sendable {
    case bash, zsh, fish
}

/// Completion scripts, made from the declared commands. A script finds the command by walking the words typed so far.
public struct CompletionScript {
    private let program: String
    private let commands: [Help]

    public init(_ root: any ParsableCommand.Type) {
        func tree(_ help: Help) -> [Help] { [help] + help.shownSubcommands.flatMap { tree(Help(help.path + [$0])) } }
        program = root.configuration.commandName
        commands = tree(Help([root]))
    }

    public func text(for shell: CompletionShell) -> String {
        switch shell {
        case .bash:
            script(
                head: "# bash completion for \(program): source it, or put it in /etc/bash_completion.d.",
                typed: "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\"", previous: "${COMP_WORDS[COMP_CWORD-1]}",
                offer: "COMPREPLY=($(compgen -W \"${choices[*]}\" -- \"${COMP_WORDS[COMP_CWORD]}\"))",
                tail: "complete -o default -F _\(program) \(program)", choice: { word, _ in "'\(word)'" })
        case .zsh:
            script(
                head:
                    "#compdef \(program)\n# zsh completion: put it in a folder of $fpath as _\(program), or source it.",
                typed: "${words[2,CURRENT-1]}", previous: "${words[CURRENT-1]}",
                offer: "(( $#choices )) && _describe '\(program)' choices || _files",
                tail: "compdef _\(program) \(program)", choice: { "'\($0):\($1.quoted)'" })
        case .fish: fish
        }
    }

    /// bash and zsh differ in their variables, in how choices are offered, and in whether these have descriptions.
    private func script(
        head: String, typed: String, previous: String, offer: String, tail: String, choice: (String, String) -> String
    ) -> String {
        var values = ""
        var words = ""
        for command in commands {
            for option in command.declarations where option.kind.isNamed && option.kind.takesValue {
                let patterns = option.names.map { "'\(command.name) \($0)'" }.joined(separator: "|")
                let choices = option.choices.map { "'\($0)'" }.joined(separator: " ")
                values += "        \(patterns)) choices=(\(choices)) ;;\n"
            }
            let choices = command.words.map { choice($0.word, $0.text) }.joined(separator: " ")
            words += "        '\(command.name)') choices=(\(choices)) ;;\n"
        }
        let paths = commands.dropFirst().map { "'\($0.name)'" }.joined(separator: "|")
        return """
            \(head)
            _\(program)() {
                local at=\(program) word choices
                for word in \(typed); do
                    case "$at $word" in \(paths)) at+=" $word" ;; esac
                done
                case "$at \(previous)" in
            \(values)        *) case "$at" in
            \(words)        esac ;;
                esac
                \(offer)
            }
            \(tail)

            """
    }

    private var fish: String {
        let head = """
            # fish completion for \(program): put it in ~/.config/fish/completions/\(program).fish.
            function __\(program)_at
                set -l at \(program)
                for word in (commandline -opc)[2..-1]
                    contains -- "$at $word" \(commands.map { "'\($0.name)'" }.joined(separator: " ")); and set at "$at $word"
                end
                test "$at" = "$argv"
            end

            """
        return commands.reduce(into: head) { text, command in
            for (word, about, option) in command.words {
                text += "complete -c \(program) -n '__\(program)_at \(command.name)'"
                for name in option?.names ?? [word] {
                    if name.hasPrefix("--") {
                        text += " -l \(name.dropFirst(2))"
                    } else {
                        text += name.hasPrefix("-") ? " -s \(name.dropFirst())" : " -a '\(name)'"
                    }
                }
                let takesValue = option?.kind.takesValue == true
                text += takesValue && option?.isPath == true ? " -r" : takesValue ? " -x" : " -f"
                if let choices = option?.choices, !choices.isEmpty { text += " -a '\(choices.joined(separator: " "))'" }
                text += " -d '\(about.quoted)'\n"
            }
        }
    }
}

extension Help {
    /// What can be typed after the command: subcommands, values of arguments, options.
    fileprivate var words: [(word: String, text: String, option: Declaration?)] {
        shownSubcommands.map { ($0.configuration.commandName, $0.configuration.abstract, nil) }
            + declarations.flatMap { declaration -> [(String, String, Declaration?)] in
                declaration.kind.isNamed
                    ? [(declaration.name, declaration.help, declaration)]
                    : declaration.choices.map { ($0, declaration.help, nil) }
            } + [("--help", "Show this help.", nil)]
    }
}

extension Declaration {
    fileprivate var choices: [String] {
        switch completion {
        case .list(let words): words
        case .default, .file: allowed
        }
    }

    fileprivate var isPath: Bool {
        switch completion {
        case .file: true
        case .default, .list: false
        }
    }
}

extension String {
    /// For single quotes, in all three shells.
    fileprivate var quoted: String { String(map { $0 == "'" ? "’" : $0 == ":" ? "," : $0 }) }
}
