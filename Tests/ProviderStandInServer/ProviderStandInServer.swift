import Dispatch
import Foundation
import ProviderStandIn

/// FCM with its token endpoint, and APNs, on free ports of loopback, until its standard input ends or SIGTERM.
///
/// `provider-stand-in FOLDER SEED` writes into the folder what a sender needs: `ca.pem`, `service-account.json`,
/// `AuthKey_….p8` and `credentials.json`, the list for the setting `delivery.credentials`. It prints one line of JSON
/// when it is ready, and one whenever new rates count. They are in `FOLDER/faults` (``FaultRates``), which may be absent
/// and is read again at each SIGHUP. `FOLDER/requests.jsonl` gets a line for each request (``RequestLine``), unless a
/// third argument is `--no-log`.
@main struct ProviderStandInServer {
    static func main() {
        var arguments = Array(CommandLine.arguments.dropFirst())
        let logs = arguments.last != "--no-log"
        if !logs { arguments.removeLast() }
        guard arguments.count == 2, let seed = UInt64(arguments[1]) else {
            fail("usage: provider-stand-in FOLDER SEED [--no-log]; SEED is a number", code: 64)
        }
        do {
            let folder = URL(fileURLWithPath: arguments[0], isDirectory: true)
            let providers = try Providers(folder: folder, seed: seed, logs: logs)
            try providers.readRates()
            providers.serve()
        } catch {
            fail("\(error)", code: 70)
        }
    }

    static func fail(_ text: String, code: Int32) -> Never {
        FileHandle.standardError.write(Data((text + "\n").utf8))
        exit(code)
    }
}

/// The servers of both providers, and their folder.
private final class Providers {
    private let folder: URL
    private let seed: UInt64
    private let providers: StandInProviders
    private let log: RequestLog?
    private var sources: [any DispatchSourceProtocol] = []

    init(folder: URL, seed: UInt64, logs: Bool) throws {
        self.folder = folder
        self.seed = seed
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let log = logs ? try RequestLog(folder.appendingPathComponent("requests.jsonl").path) : nil
        providers = try StandInProviders(folder: folder.path)
        if let log { providers.observe { log.append($0, $1, $2) } }
        self.log = log
    }

    /// Rates that cannot be read change nothing.
    func readRates() throws {
        let text = (try? String(contentsOf: folder.appendingPathComponent("faults"), encoding: .utf8)) ?? ""
        let rates = try FaultRates(text)
        providers.fcm.setFaults(rates.faults(seed: seed))
        providers.apns.setFaults(rates.faults(seed: seed &+ 1))
        providers.servers.fcm.setFaults(rates.connections)
        providers.servers.apns.setFaults(rates.connections)
        say(#"{"faults":\#(JSONQuote.text(text.trimmingCharacters(in: .whitespacesAndNewlines)))}"#)
    }

    private func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    func serve() -> Never {
        say(
            #"{"fcm":"\#(providers.fcmURL)","apns":"\#(providers.apnsURL)","#
                + #""ca":\#(JSONQuote.text(providers.caFile)),"#
                + #""credentials":\#(JSONQuote.text(providers.credentialsFile)),"#
                + #""log":\#(log.map { JSONQuote.text($0.path) } ?? "null")}"#)
        onSignal(SIGHUP) { [self] in
            do {
                try readRates()
            } catch {
                FileHandle.standardError.write(Data("faults: \(error)\n".utf8))
            }
        }
        onSignal(SIGTERM) { [self] in end() }
        let input = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .main)
        input.setEventHandler { [self] in
            if FileHandle.standardInput.availableData.isEmpty { end() }
        }
        // Whoever reads the log while it runs sees what is at most so old.
        let timer = DispatchSource.makeTimerSource(queue: .main)
        timer.schedule(deadline: .now(), repeating: .milliseconds(100))
        timer.setEventHandler { [log] in log?.flush() }
        for source in [input, timer] as [any DispatchSourceProtocol] {
            source.activate()
            sources.append(source)
        }
        dispatchMain()
    }

    private func onSignal(_ number: Int32, _ action: @escaping () -> Void) {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
        source.setEventHandler(handler: action)
        source.activate()
        sources.append(source)
    }

    private func end() -> Never {
        providers.stop()
        log?.flush()
        exit(0)
    }
}

/// Since 1970.
func milliseconds() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }
