import Foundation
import Pipeline

/// Passwords and keys among this process's arguments, which `ps` shows to every user of the machine.
enum ArgumentSecrets {
    /// Overwrites them where the kernel shows them. Call it first, after copying the arguments; until then they are
    /// visible, so a file is the better place.
    static func hide() {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let word = CommandLine.unsafeArgv[index], let value = secret(in: String(cString: word)) else {
                continue
            }
            memset(word + value.lowerBound, Int32(UInt8(ascii: "x")), value.count)
        }
    }

    /// The byte range of a secret setting's value in a word: in `kafka.sasl.password=…`, `-Xsasl.password=…`,
    /// `--set=kafka.sasl.password=…`.
    static func secret(in word: String) -> Range<Int>? {
        var name = Substring(word)
        for prefix in ["--set=", "-X", "kafka."] where name.hasPrefix(prefix) { name = name.dropFirst(prefix.count) }
        guard let equals = name.firstIndex(of: "="), KafkaSetting.isSecret(name[..<equals].lowercased()) else {
            return nil
        }
        let start = word.utf8.distance(from: word.startIndex, to: word.utf8.index(after: equals))
        return start..<word.utf8.count
    }
}
