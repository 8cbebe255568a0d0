import Digests
import HTTPClient
import NotificationPayload
import Pipeline
import ProviderStandIn
import Telemetry

/// The backend of a shop, which signs tokens for the users of its app.
struct DemoShop {
    private static let name = "https://shop.example"
    /// In seconds: the longest that is believed.
    private static let life: Int64 = 86_400

    private let key: StandInKey
    private let signing: SigningKey

    init() throws {
        key = try StandInKey(.p256)
        signing = try SigningKey(pem: Array(key.pem.utf8), .es256)
    }

    /// The content of `api.issuers`.
    var issuers: String {
        let key = PushValue.string(key.publicPEM).json
        return #"[{"iss":"\#(Self.name)","kid":"demo","alg":"ES256","key":\#(key),"audiences":["place/*"]}]"#
    }

    /// By which a phone is a person's, at any place.
    func token(of person: String) throws -> String {
        let begins = WallClock.now.milliseconds / 1_000
        let claims = """
            {"iss":"\(Self.name)","aud":"carillon","sub":"\(person)","iat":\(begins),"exp":\(begins + Self.life),\
            "audiences":["place/*"]}
            """
        return String(
            decoding: try signing.token(header: #"{"alg":"ES256","kid":"demo"}"#, claims: claims), as: UTF8.self)
    }
}

/// The API as a phone and a backend use it.
struct DemoAPI {
    let address: ListenAddress

    /// Sends a request, and prints it with its answer's status.
    ///
    /// - Parameter credential: `Bearer …` or `Device …`.
    /// - Returns: the answer.
    /// - Throws: exit code 70 for any other status than the one that the story has.
    func ask(
        _ method: String, _ path: String, by credential: String, _ content: String? = nil, expects: Int
    ) throws -> PushValue {
        let outcome = PageRequest.send(
            method, "http://\(address)\(path)", fields: ["Authorization: \(credential)"], content: content,
            timeout: .seconds(30))
        guard case .page(expects, let body) = outcome, let answer = PushValue(json: body) else {
            // An answer may have a secret in it.
            let what = if case .page(let status, _) = outcome { "with \(status)" } else { "without an answer" }
            throw CommandFailure(.defect, "demo: \(method) \(path) has ended \(what)")
        }
        Terminal.write("   \(method) \(path): \(expects)\n")
        return answer
    }
}
