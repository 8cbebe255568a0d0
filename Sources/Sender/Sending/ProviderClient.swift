import HTTPClient
import KafkaClient

/// The connections of a credential to its provider: an `HTTPClient`, or those of a simulated provider.
protocol ProviderClient {
    func submit(_ requests: [HTTPRequest])
    func takeResults(into results: inout [HTTPResult])
    func cancel(tags: [UInt64])
    func close()
}

extension HTTPClient: ProviderClient {
    func close() { close(within: .zero) }
}

/// Makes them; the signal is to be raised when there are results.
typealias ProviderConnect = @Sendable (HTTPClientConfiguration, QueueSignal) throws -> any ProviderClient

let connectHTTP: ProviderConnect = { configuration, signal in try HTTPClient(configuration) { signal.raise() } }
