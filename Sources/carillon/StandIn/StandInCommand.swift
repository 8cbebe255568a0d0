import Arguments
import Foundation
import Pipeline
import ProviderStandIn

/// `carillon stand-in`
struct StandInCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stand-in",
        abstract: "Play FCM and APNs on this machine, and show what each phone would show.",
        discussion: """
            For trying: a sender that is started with it sends to no phone. With a command, after --, it runs the command \
            with the CARILLON_DELIVERY_… variables of a sender, hands SIGTERM and SIGINT on, and ends with the command and \
            with its exit code. Without one, it prints the settings of a sender and runs until a signal. Keys and \
            certificates are made anew at each start.
            """,
        examples: [
            ("carillon stand-in -- carillon deliver -b localhost:9092 --from earliest", "A sender that sends to it."),
            ("carillon stand-in --folder stand-in", "Then: carillon deliver --config stand-in/carillon.properties …"),
        ])

    @Option(
        help: "Keep keys, certificates and carillon.properties here; by default in a private folder that is removed.",
        valueName: "folder", completion: .file)
    var folder: String?
    @Argument(help: "The command to run, with its arguments.") var command: [String]

    func run() async throws {
        let code: Int32
        if let folder {
            code = try await serve(try Self.prepare(folder))
        } else {
            let folder = try PrivateFolder("carillon-stand-in")
            defer { folder.remove() }
            code = try await serve(folder.path)
        }
        if code != ExitCode.success.rawValue { exit(code) }
    }

    /// - Returns: the exit code.
    private func serve(_ path: String) async throws -> Int32 {
        do {
            let providers = try StandInProviders(folder: path)
            defer { providers.stop() }
            providers.observe { provider, record, _ in Terminal.write(PhoneLine.text(provider, record) + "\n") }
            let settings = Self.settings(of: providers)
            guard command.isEmpty else { return try run(command, settings) }
            let lines = settings.map { "\($0.setting.key)=\($0.value)\n" }.joined()
            if folder != nil { try StandInProviders.write(lines, to: path + "/carillon.properties") }
            Terminal.write(lines)
            await Signals.first()
            return ExitCode.success.rawValue
        } catch let error as StandInError {
            throw CommandFailure(.configuration, "stand-in: \(error)")
        }
    }

    private func run(_ words: [String], _ settings: [(setting: Setting, value: String)]) throws -> Int32 {
        var environment = ProcessInfo.processInfo.environment
        for (setting, value) in settings { environment[setting.variable] = value }
        do {
            return try ChildProcess.run(words, environment: environment)
        } catch {
            let reason = error.error == ENOENT ? "there is no such command" : String(cString: strerror(error.error))
            Terminal.tell("stand-in: '\(error.command)' cannot be run: \(reason)")
            return error.exitCode
        }
    }

    /// What a sender has to be told.
    private static func settings(of providers: StandInProviders) -> [(setting: Setting, value: String)] {
        let values = [
            "delivery.credentials": "@" + providers.credentialsFile, "delivery.fcm-url": providers.fcmURL,
            "delivery.apns-url": providers.apnsURL, "delivery.ca-file": providers.caFile,
        ]
        return Setting.all.compactMap { setting in values[setting.key].map { (setting, $0) } }
    }

    /// - Returns: the folder's whole path, for commands that run elsewhere.
    private static func prepare(_ folder: String) throws -> String {
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(
                .usage, "--folder: '\(folder)' cannot be made; it must be a folder, or a path where one can be made")
        }
        return URL(fileURLWithPath: folder, isDirectory: true).standardizedFileURL.path
    }
}
