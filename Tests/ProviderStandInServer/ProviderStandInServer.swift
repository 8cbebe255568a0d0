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
            try providers.writeCredentials()
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
    private let authority: Authority
    private let fcm: FCMStandIn
    private let apns: APNSStandIn
    private let servers: (fcm: StandInServer, apns: StandInServer)
    private let log: RequestLog?
    private var sources: [any DispatchSourceProtocol] = []

    init(folder: URL, seed: UInt64, logs: Bool) throws {
        self.folder = folder
        self.seed = seed
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let authority = try Authority()
        let fcm = try FCMStandIn(recordLimit: 0)
        let apns = try APNSStandIn(recordLimit: 0)
        let log = logs ? try RequestLog(folder.appendingPathComponent("requests.jsonl").path) : nil
        if let log {
            fcm.observe { log.append("fcm", $0, $1) }
            apns.observe { log.append("apns", $0, $1) }
        }
        servers = (
            // As FCM and Google's token endpoint do. APNs speaks nothing but HTTP/2.
            try StandInServer(authority: authority, protocols: .http2OrHTTP1) { fcm.answer($0) },
            try StandInServer(authority: authority) { apns.answer($0) }
        )
        (self.authority, self.fcm, self.apns, self.log) = (authority, fcm, apns, log)
    }

    func writeCredentials() throws {
        let keyFile = "AuthKey_\(APNSStandIn.keyID).p8"
        let list = """
            [{"name":"project","provider":"fcm","service_account":"service-account.json"},
             {"name":"team","provider":"apns","key_file":"\(keyFile)","key_id":"\(APNSStandIn.keyID)",
              "team_id":"\(APNSStandIn.teamID)"}]

            """
        try write("ca.pem", authority.pem)
        try write("service-account.json", fcm.serviceAccount(servers.fcm))
        try write(keyFile, apns.key.pem)
        try write("credentials.json", list)
    }

    private func write(_ name: String, _ text: String) throws {
        try text.write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
    }

    /// Rates that cannot be read change nothing.
    func readRates() throws {
        let text = (try? String(contentsOf: folder.appendingPathComponent("faults"), encoding: .utf8)) ?? ""
        let rates = try FaultRates(text)
        fcm.setRates(rates, seed: seed)
        apns.setRates(rates, seed: seed &+ 1)
        servers.fcm.setFaults(rates.connections)
        servers.apns.setFaults(rates.connections)
        say(#"{"faults":\#(JSONQuote.text(text.trimmingCharacters(in: .whitespacesAndNewlines)))}"#)
    }

    private func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    func serve() -> Never {
        say(
            #"{"fcm":"https://127.0.0.1:\#(servers.fcm.port)","apns":"https://127.0.0.1:\#(servers.apns.port)","#
                + #""ca":\#(JSONQuote.text(folder.appendingPathComponent("ca.pem").path)),"#
                + #""credentials":\#(JSONQuote.text(folder.appendingPathComponent("credentials.json").path)),"#
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
        servers.fcm.stop()
        servers.apns.stop()
        log?.flush()
        exit(0)
    }
}
