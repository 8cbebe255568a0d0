import HTTPServer
import JSONReader
import KafkaClient
import Notifications
import Pipeline
import StateStore
import Synchronization
import Telemetry
import Time

@testable import API
@testable import Registrar

/// A registrar that decides at once what the API gives, and whose table is what the API knows.
final class PlayedRegistrar: RecordTaker {
    let view = DeviceView()
    let board = VerdictBoard()
    let now = Mutex(Shop.now)
    /// Whether it decides; else it only records.
    let decides = Mutex(true)
    private let commands = Mutex<[Command]>([])

    init() throws {
        view.replace(try RegistrarTable(MemoryStore()), freshSince: .now + .seconds(3_600))
    }

    /// What was recorded.
    var recorded: [Command] { commands.withLock { $0 } }

    func give(_ entry: RecordWriter.Entry) -> Bool {
        var reader = JSONReader()
        guard let command = Command(entry.record.value ?? [], &reader) else { return false }
        let offset = commands.withLock { commands in
            commands.append(command)
            return Int64(commands.count - 1)
        }
        entry.done(.written(partition: 0, offset: offset))
        if decides.withLock({ $0 }) {
            if let verdict = try? decide(command, at: offset) { board.decided(offset, verdict) }
            board.look()
        } else {
            board.expire(now: .now + .seconds(3_600))
        }
        return true
    }

    private func decide(_ command: Command, at offset: Int64) throws -> Verdict? {
        let time = now.withLock { $0 }
        return try view.update { table throws(StoreError) in
            guard let table else { return nil }
            let decision = try RegistrarCore(table).decide(command, at: offset, time: time)
            for change in decision.subscriptions { table.take(change) }
            table.commit()
            return decision.verdict
        }
    }
}

extension RegistrarTable {
    /// Takes what was written into the topic of subscriptions.
    func take(_ change: SubscriptionChange) {
        take(change.key, change.put?.value)
    }

    func take(_ key: SubscriptionKey, _ value: [UInt8]?) {
        Array(key.text.utf8).withUnsafeBytes { key in
            guard let value else { return set(SubscriptionRecord(partition: 0, offset: 0, key: key, value: nil)) }
            value.withUnsafeBytes { set(SubscriptionRecord(partition: 0, offset: 0, key: key, value: $0)) }
        }
    }
}

/// The endpoints of devices and people, with a registrar behind them, for users of a shop, their devices and one key.
struct PlayedDesk: Sendable {
    let registrar: PlayedRegistrar
    let handler: APIHandler
    let key = APIKey(.live)
    let shop: Shop
    let metrics = Metrics()

    /// Of an audience, so many devices are counted.
    static let mostCounted = 1_500

    /// - Parameters:
    ///   - audiences: those that the key may reach; empty: all.
    ///   - settings: of topics, as their broker would say them.
    ///   - receipts: takes those of phones.
    ///   - control: the topic.
    init(
        scopes: [APIScope] = APIScope.allCases, audiences: [String] = [], settings: TopicSettings.Known = [:],
        receipts: (any RecordTaker)? = nil, control: String = ""
    ) throws {
        let registrar = try PlayedRegistrar()
        (self.registrar, shop) = (registrar, try Shop.shared())
        var configuration = PipelineConfiguration(kafka: [:], stateDirectory: "", rules: try ExtractionRules())
        configuration.topics.commands = "notifications.commands"
        configuration.topics.control = control
        configuration.topics.receipts = receipts == nil ? "" : "notifications.receipts"
        var surroundings = APIHandler.Surroundings(
            now: { registrar.now.withLock { $0 } }, requestID: { "req_1" }, chance: { 0 })
        surroundings.isErased = { registrar.view.isErased($0) }
        surroundings.knows = { (try? registrar.view.device($0.device))?.credential == $0.hash }
        let writer = CommandWriter(
            configuration, registrar, registrar.view, registrar.board, surroundings, metrics: metrics)
        let bulk = DeviceBulkEndpoints(writer, TopicReads(logger: Logger(label: "test")))
        let erasures = ErasureEndpoints(
            configuration, writer, TopicReads(logger: Logger(label: "test")),
            TopicSettings(of: configuration.topicsWithPeople) { _ in settings })
        var entry = KeyEntry(key, scopes: scopes)
        entry.audiences = audiences
        handler = APIHandler(
            Router(
                DeviceEndpoints(writer).all + bulk.all + PersonEndpoints(writer).all
                    + erasures.all
                    + AudienceEndpoints(
                        configuration, writer, TopicReads(logger: Logger(label: "test")), most: Self.mostCounted
                    ).all
                    + ReceiptEndpoints(configuration, receipts ?? registrar, registrar.view, surroundings).all),
            KeyRing([entry]), .live, rate: 100_000, surroundings)
        handler.replace(try shop.list([try shop.entry(.es256)]))
    }

    /// - Parameter authorization: nil: the key's.
    func ask(
        _ method: String, _ target: String, _ body: String = "", as authorization: String? = nil,
        _ headers: [String: String] = [:]
    ) -> HTTPResponse {
        var request = IncomingRequest(
            method: method, target: target,
            headers: [.init("authorization", authorization ?? "Bearer \(key.text)")]
                + ["content-type": "application/json"].merging(headers) { $1 }.map { .init($0.key, $0.value) })
        switch handler.admit(request) {
        case .refuse(let response): return response
        case .read(_, let answer):
            request.body = Array(body.utf8)
            switch answer(request) {
            case .now(let response): return response
            case .later(let exchange, _): return exchange.wait()
            }
        }
    }

    /// What a user's app sends.
    func user(
        _ person: String, _ audiences: String = #"["place/*","channel/*"]"#, device: DeviceID? = nil,
        issued: WallTime = Shop.now
    ) throws -> String {
        let seconds = issued.milliseconds / 1_000
        var claims: [String: String?] = [
            "sub": "\"\(person)\"", "audiences": audiences, "iat": "\(seconds)", "exp": "\(seconds + 3_600)",
        ]
        if let device { claims["device"] = "\"\(device)\"" }
        return "Bearer " + String(decoding: try shop.token(claims: claims), as: UTF8.self)
    }

    static let phone = "installation-0001"
    static let path = "/v1/devices/\(phone)"

    /// A whole device.
    static func body(_ address: String = "fid-1", _ more: String = "") -> String {
        #"{"app":"com.example.shop","address":{"kind":"installation_id","value":"\#(address)"}\#(more)}"#
    }

    /// Registers the phone.
    ///
    /// - Returns: what its app sends as its credential.
    func register(_ address: String = "fid-1", as authorization: String? = nil, _ more: String = "") -> String {
        let answer = ask("PUT", Self.path, Self.body(address, more), as: authorization)
        return "Device \(Self.phone):\(answer.member("secret") ?? "")"
    }
}

extension HTTPResponse {
    /// A member of the answer that is a text.
    func member(_ name: String) -> String? {
        body.firstMatch(of: try! Regex(#""\#(name)":"([^"]*)""#))?[1].substring.map(String.init)
    }

    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}
