import CCurl

/// One request over plain HTTP/1.1 for a small page, such as a service's health. Blocks the calling thread.
package enum PageRequest {
    package enum Outcome: Sendable, Equatable {
        case page(status: Int, body: String)
        /// The host answers, and nothing listens at the port.
        case refused
        /// No whole answer in time.
        case timedOut
        /// What libcurl says.
        case failed(String)
    }

    /// What is kept of a page, in bytes.
    private static let limit = 64 * 1_024

    /// - Parameters:
    ///   - fields: the header's, such as `Accept: text/plain`.
    ///   - content: JSON; nil: none.
    ///   - timeout: for everything together, also for looking up the host's name; at least 1 ms.
    package static func send(
        _ method: String, _ url: String, fields: [String] = [], content: String? = nil, timeout: Duration
    ) -> Outcome {
        guard HTTPClient.isLibraryReady, let handle = curl_easy_init() else {
            return .failed("libcurl does not start")
        }
        let type = content.map { _ in "Content-Type: application/json" }
        let list = (fields + [type].compactMap { $0 }).reduce(nil) { curl_slist_append($0, $1) ?? $0 }
        defer {
            curl_easy_cleanup(handle)
            curl_slist_free_all(list)
        }
        let body = Body()
        let sent = content.map { ccurl_set_text(handle, CURLOPT_COPYPOSTFIELDS, $0) } ?? CURLE_OK
        let options = [
            sent,
            ccurl_set_text(handle, CURLOPT_CUSTOMREQUEST, method),
            ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, list),
            ccurl_set_text(handle, CURLOPT_URL, url),
            ccurl_set_text(handle, CURLOPT_PROTOCOLS_STR, "http"),
            ccurl_set_number(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1),
            // A proxy of the environment is for other hosts than this one.
            ccurl_set_text(handle, CURLOPT_PROXY, ""),
            ccurl_set_number(handle, CURLOPT_NOSIGNAL, 1),
            ccurl_set_number(handle, CURLOPT_QUICK_EXIT, 1),
            ccurl_set_number(handle, CURLOPT_TIMEOUT_MS, max(1, timeout.wholeMilliseconds)),
            ccurl_set_writer(handle, append, Unmanaged.passUnretained(body).toOpaque()),
        ]
        guard options.allSatisfy({ $0 == CURLE_OK }) else { return .failed("libcurl lacks an option") }
        let code = withExtendedLifetime(body) { curl_easy_perform(handle) }
        switch code {
        case CURLE_OK:
            return .page(status: Int(ccurl_status(handle)), body: String(decoding: body.bytes, as: UTF8.self))
        case CURLE_COULDNT_CONNECT: return .refused
        case CURLE_OPERATION_TIMEDOUT: return .timedOut
        default: return .failed(String(cString: curl_easy_strerror(code)))
        }
    }

    fileprivate final class Body {
        var bytes: [UInt8] = []

        func append(_ more: UnsafeRawBufferPointer) {
            bytes += more.prefix(max(0, PageRequest.limit - bytes.count))
        }
    }
}

private func append(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let context else { return 0 }
    let body = Unmanaged<PageRequest.Body>.fromOpaque(context).takeUnretainedValue()
    body.append(UnsafeRawBufferPointer(start: bytes, count: size * count))
    return size * count
}
