import Pipeline

extension SenderConfiguration {
    /// How long a record of each retry topic waits, in milliseconds; a test of a debug build may ask for less in
    /// `CARILLON_FAULT_RETRY`, such as `1s,2s,5s`.
    var retryDelays: [Int64] {
        #if DEBUG
            if let given = FaultRetry.delays, given.count == retries.count { return given }
        #endif
        return retries.map(\.wholeMilliseconds)
    }
}

#if DEBUG
    import Foundation

    private enum FaultRetry {
        static let delays = ProcessInfo.processInfo.environment["CARILLON_FAULT_RETRY"].map { text in
            text.split(separator: ",").compactMap { ConfigurationText.duration(String($0))?.wholeMilliseconds }
        }
    }
#endif
