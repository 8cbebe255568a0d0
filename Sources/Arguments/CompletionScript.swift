/// The shells that a completion script can be made for.
public enum CompletionShell: String, CaseIterable, ExpressibleByArgument, Sendable {
    case bash, zsh, fish
}

/// Completion scripts, made from the declared commands. A script finds the command by walking the words typed so far.
public struct CompletionScript {
    private let program: String
    private let commands: [Help]

    public init(_ root: any ParsableCommand.Type) {
        func tree(_ help: Help) -> [Help] { [help] + help.subcommands.flatMap { tree(Help(help.path + [$0])) } }
        program = root.configuration.commandName
        commands = tree(Help([root]))
    }

    public func text(for shell: CompletionShell) -> String {
        switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    private func paths(separator: String) -> String {
        commands.dropFirst().map { "'\($0.name)'" }.joined(separator: separator)
    }

    /// A case for each option that takes a value.
    private func valueCases(list: ([String]) -> String, files: String) -> String {
        commands.reduce(into: "") { text, command in
            for option in command.declarations where option.kind == .option {
                let patterns = option.names.map { "'\(command.name) \($0)'" }.joined(separator: "|")
                let offer = option.choices.map(list) ?? (option.isPath ? files : ":")
                text += "        \(patterns)) \(offer); return ;;\n"
            }
        }
    }

    private var bash: String {
        let offer = { (words: [String]) in "COMPREPLY=($(compgen -W '\(words.joined(separator: " "))' -- \"$cur\"))" }
        let words = commands.map { "        '\($0.name)') \(offer($0.words.map(\.word))) ;;\n" }.joined()
        return """
            # bash completion for \(program): source it, or put it in /etc/bash_completion.d.
            _\(program)() {
                local cur=${COMP_WORDS[COMP_CWORD]} at=\(program) i
                COMPREPLY=()
                for ((i = 1; i < COMP_CWORD; i++)); do
                    case "$at ${COMP_WORDS[i]}" in \(paths(separator: "|"))) at+=" ${COMP_WORDS[i]}" ;; esac
                done
                case "$at ${COMP_WORDS[COMP_CWORD - 1]}" in
            \(valueCases(list: offer, files: "COMPREPLY=($(compgen -f -- \"$cur\"))"))    esac
                case "$at" in
            \(words)    esac
            }
            complete -o default -F _\(program) \(program)

            """
    }

    private var zsh: String {
        let words = commands.map { command in
            let choices = command.words.map { "'\($0.word):\($0.text.quoted)'" }.joined(separator: " ")
            return "        '\(command.name)') choices=(\(choices)) ;;\n"
        }.joined()
        return """
            #compdef \(program)
            # zsh completion for \(program): put it in a folder of $fpath as _\(program), or source it after compinit.
            _\(program)() {
                local at=\(program) word
                local -a choices
                for word in ${words[2,CURRENT-1]}; do
                    case "$at $word" in \(paths(separator: "|"))) at+=" $word" ;; esac
                done
                case "$at ${words[CURRENT-1]}" in
            \(valueCases(list: { "compadd -- \($0.joined(separator: " "))" }, files: "_files"))    esac
                case "$at" in
            \(words)    esac
                _describe '\(program)' choices || _files
            }
            compdef _\(program) \(program)

            """
    }

    private var fish: String {
        let head = """
            # fish completion for \(program): put it in ~/.config/fish/completions/\(program).fish.
            function __\(program)_at
                set -l at \(program)
                for word in (commandline -opc)[2..-1]
                    switch "$at $word"
                        case \(paths(separator: " "))
                            set at "$at $word"
                    end
                end
                test "$at" = "$argv"
            end

            """
        return commands.reduce(into: head) { text, command in
            for (word, about, option) in command.words {
                text += "complete -c \(program) -n '__\(program)_at \(command.name)' -f"
                if !word.hasPrefix("-") { text += " -a \(word)" }
                for name in option?.names ?? (word.hasPrefix("-") ? [word] : []) {
                    text += name.hasPrefix("--") ? " -l \(name.dropFirst(2))" : " -s \(name.dropFirst())"
                }
                if option?.kind == .option { text += option?.isPath == true ? " -r -F" : " -x" }
                if let choices = option?.choices { text += " -a '\(choices.joined(separator: " "))'" }
                text += " -d '\(about.quoted)'\n"
            }
        }
    }
}

extension Help {
    /// What can be typed after the command: subcommands, values of arguments, options.
    fileprivate var words: [(word: String, text: String, option: Declaration?)] {
        var words = subcommands.map { ($0.configuration.commandName, $0.configuration.abstract, nil as Declaration?) }
        for declaration in declarations {
            if declaration.kind == .argument {
                words += (declaration.choices ?? []).map { ($0, declaration.help, nil) }
            } else {
                words.append((declaration.name, declaration.help, declaration))
            }
        }
        return words + [("--help", "Show this help.", nil)]
    }
}

extension Declaration {
    fileprivate var choices: [String]? {
        if case .list(let words) = completion { return words }
        return allowed.isEmpty ? nil : allowed
    }

    fileprivate var isPath: Bool {
        if case .file = completion { return true }
        return false
    }
}

extension String {
    /// For single quotes, in all three shells.
    fileprivate var quoted: String { String(map { $0 == "'" ? "’" : $0 == ":" ? "," : $0 }) }
}
