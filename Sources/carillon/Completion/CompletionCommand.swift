import Arguments

/// `carillon completion`
struct CompletionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completion",
        abstract: "Print the completion script of a shell.",
        examples: [
            ("source <(carillon completion bash)", "Complete in this shell."),
            ("carillon completion zsh > ~/.zfunc/_carillon", "Keep it, in a folder of $fpath."),
            ("carillon completion fish > ~/.config/fish/completions/carillon.fish", "Keep it."),
        ])

    @Argument(help: "The shell.") var shell: CompletionShell

    func run() async throws {
        Terminal.write(CompletionScript(Carillon.self).text(for: shell))
    }
}
