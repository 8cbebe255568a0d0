import DeviceRegistration
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What the app registers, as the command line says it.
///
///     receiving-app --register http://127.0.0.1:8080 --store phone.json --fid FID --person 17 --token token.txt --audience place/42
///
/// Without `--person` nobody is logged in. A real app has the id from Firebase, and asks its backend for the token.
struct Registration {
    private var api: URL?
    private var store = ""
    private var tokenFile: String?
    private var profile = DeviceProfile(app: "com.example.shop")

    /// - Parameter words: what follows `--register`; nil if they are not so.
    init?(_ words: [String]) {
        var words = words.makeIterator()
        api = words.next().flatMap { URL(string: $0) }
        while let option = words.next() {
            guard let value = words.next() else { return nil }
            switch option {
            case "--store": store = value
            case "--fid": profile.address = .init(.installationID, value)
            case "--person": profile.person = value
            case "--token": tokenFile = value
            case "--locale": profile.locale = value
            case "--audience": profile.audiences.append(value)
            default: return nil
            }
        }
        guard api != nil, !store.isEmpty else { return nil }
    }

    /// One start of the app.
    func run() async -> RegistrationOutcome {
        guard let api else { return .notStored }
        let tokenFile = tokenFile
        let registration = DeviceRegistration(store: FileInstallations(path: store), send: api.send) { _, isRefused in
            // A file has no newer one.
            isRefused ? nil : tokenFile.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) }
        }
        return await registration.register(profile)
    }
}

extension URL {
    /// Sends a request to the API at this address.
    func send(_ request: RegistrationRequest) async throws -> RegistrationResponse {
        guard let url = URL(string: request.path, relativeTo: self) else { throw URLError(.badURL) }
        var http = URLRequest(url: url, timeoutInterval: 30)
        http.httpMethod = request.method
        http.setValue(request.authorization, forHTTPHeaderField: "Authorization")
        if let body = request.body {
            http.setValue("application/json", forHTTPHeaderField: "Content-Type")
            http.httpBody = Data(body.utf8)
        }
        let (data, response) = try await URLSession.shared.data(for: http)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return RegistrationResponse(
            status: response.statusCode,
            retryAfter: response.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) },
            body: String(decoding: data, as: UTF8.self))
    }
}

/// A file that only its owner reads. An iPhone has the keychain for it.
struct FileInstallations: InstallationStore {
    var path: String

    func load() throws -> String? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return try String(contentsOfFile: path, encoding: .utf8)
    }

    func save(_ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
}
