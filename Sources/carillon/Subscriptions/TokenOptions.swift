import Arguments
import Foundation

/// Where a device's token is read from: never from the arguments, which the shell stores and every user can list.
struct TokenOptions: ParsableArguments {
    @Option(help: "A file that holds the token; standard input without it.", valueName: "file", completion: .file)
    var tokenFile: String?

    /// - Throws: if there is no token, or more than one line.
    func read() throws(CommandFailure) -> String { try Self.read(tokenFile, of: "--token-file") }

    /// - Parameter flag: the one that named the file, for a message.
    static func read(_ tokenFile: String?, of flag: String) throws(CommandFailure) -> String {
        let text: String
        if let tokenFile {
            guard let data = FileManager.default.contents(atPath: tokenFile) else {
                throw CommandFailure(.usage, "\(flag) \(tokenFile): the file cannot be read")
            }
            text = String(decoding: data, as: UTF8.self)
        } else if Terminal.inputIsTerminal {
            Terminal.complain("Token (not shown): ")
            text = readHidden()
            Terminal.complain("\n")
        } else {
            text = String(decoding: FileHandle.standardInput.readDataToEndOfFile(), as: UTF8.self)
        }
        let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !token.isEmpty, !token.contains(where: \.isWhitespace) else {
            let source = tokenFile ?? "standard input"
            throw CommandFailure(.usage, "\(source): it must hold one token, without blanks")
        }
        return token
    }

    private static func readHidden() -> String {
        var shown = termios()
        tcgetattr(STDIN_FILENO, &shown)
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        defer { tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown) }
        return readLine() ?? ""
    }
}
