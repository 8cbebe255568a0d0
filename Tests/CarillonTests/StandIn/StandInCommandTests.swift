import Foundation
import TestSupport
import Testing

@testable import carillon

@Suite("carillon stand-in") struct StandInCommandTests {
    /// What the command sees, one line each.
    private static let look = """
        echo "credentials $CARILLON_DELIVERY_CREDENTIALS"
        test -s "${CARILLON_DELIVERY_CREDENTIALS#@}" && test -s "$CARILLON_DELIVERY_CA_FILE" && echo files
        stat -c 'mode %a' "$(dirname "$CARILLON_DELIVERY_CA_FILE")"
        find "$(dirname "$CARILLON_DELIVERY_CA_FILE")" -type f ! -perm 600 -printf 'open %f\\n'
        echo "fcm $CARILLON_DELIVERY_FCM_URL apns $CARILLON_DELIVERY_APNS_URL"
        cat
        exit 7
        """

    @Test("the command has a sender's settings, standard input and private files, which are gone when it has ended")
    func command() throws {
        let result = try CommandProcess.run(["stand-in", "--", "sh", "-c", Self.look], input: "typed\n")
        #expect(result.status == 7, "\(result.errors)")
        let lines = result.output.split(separator: "\n")
        #expect(lines.dropFirst().prefix(2) == ["files", "mode 700"])
        #expect(lines.last == "typed")
        #expect(lines.count { $0.wholeMatch(of: #/fcm https://127.0.0.1:\d+ apns https://127.0.0.1:\d+/#) != nil } == 1)
        #expect(!result.output.contains("open "))
        let credentials = try #require(lines.first).dropFirst("credentials @".count)
        let folder = URL(fileURLWithPath: String(credentials)).deletingLastPathComponent()
        #expect(folder.lastPathComponent.hasPrefix("carillon-stand-in-"))
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test("SIGTERM and SIGINT reach the command, and its end is waited for")
    func signals() throws {
        let child = """
            trap 'echo TERM; kill -INT $PPID' TERM
            trap 'echo INT; exit 0' INT
            kill -TERM $PPID
            while :; do sleep 0.05; done
            """
        let result = try CommandProcess.run(["stand-in", "--", "sh", "-c", child])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output == "TERM\nINT\n")
    }

    @Test("a command that a signal ended is 128 and the signal's number, one that is not there 127, each in a sentence")
    func endings() throws {
        #expect(try CommandProcess.run(["stand-in", "--", "sh", "-c", "kill -KILL $$"]).status == 137)
        let missing = try CommandProcess.run(["stand-in", "--", "no-such-command", "--from", "earliest"])
        #expect(missing.status == 127)
        #expect(missing.errors == "carillon: stand-in: 'no-such-command' cannot be run: there is no such command\n")
        let folder = try CommandProcess.run(["stand-in", "--", "/tmp"])
        #expect(folder.status == 126)
        #expect(folder.errors == "carillon: stand-in: '/tmp' cannot be run: Permission denied\n")
    }

    @Test("--folder keeps the files; without a command its carillon.properties is a sender's configuration")
    func properties() throws {
        let folder = TemporaryFolder()
        // A shell beside it ends it once the properties are there.
        let script = """
            for name in CREDENTIALS CA_FILE FCM_URL APNS_URL; do unset "CARILLON_DELIVERY_$name"; done
            "$CARILLON" stand-in --folder "$0/new" > "$0/printed" & standin=$!
            until test -s "$0/new/carillon.properties"; do sleep 0.05; done
            "$CARILLON" check-config --config "$0/new/carillon.properties" -b localhost:1 && kill "$standin"
            wait "$standin"; echo "ended $?"
            cmp "$0/printed" "$0/new/carillon.properties" && ls "$0/new"
            """
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let carillon = try CommandProcess.executable().path
        let result = try CommandProcess.run(
            ["stand-in", "--", "sh", "-c", script, folder.path], environment: ["CARILLON": carillon])
        #expect(result.status == 0, "\(result.errors)")
        for word in ["carillon.properties:1", "delivery.ca-file", "ended 0\n", "\ncredentials.json\n"] {
            #expect(result.output.contains(word), "\(word) in \(result.output)")
        }
    }
}
