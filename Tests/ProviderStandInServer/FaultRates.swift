import ProviderStandIn
import Synchronization

/// How often a stand-in does what, as text: `quota=0.02,hang=0.001,goaway=500`.
struct FaultRates: Sendable {
    /// Of each request; their shares are of all requests.
    enum Kind: String, CaseIterable, Sendable {
        /// 429, 503 and 500; the first two with `Retry-After`.
        case quota, unavailable, `internal`
        /// 502 with HTML; APNs's 500.
        case html
        /// Accepted, and answered after two seconds.
        case slow
        /// Accepted, and not answered.
        case hang
        /// Accepted, and the connection is cut off before the answer.
        case reset
    }

    /// Of each device, by the hash of its token; their shares are of all devices.
    enum DeviceKind: String, CaseIterable, Sendable {
        /// Unregistered since these rates count.
        case dead
        /// FCM's INVALID_ARGUMENT on the token, APNs's BadDeviceToken.
        case invalid
        /// FCM's SENDER_ID_MISMATCH, APNs's DeviceTokenNotForTopic.
        case mismatch
    }

    var requests: [Kind: Double] = [:]
    var devices: [DeviceKind: Double] = [:]
    /// `streams`, `goaway`, `cut` and `stall`.
    var connections = ConnectionFaults()
    /// `retry-after`: seconds.
    var retryAfter = 1
    /// `clock`: how far the provider's clock is ahead, in milliseconds.
    var clock: Int64 = 0

    init() {}

    /// Why a text has no rates.
    struct Problem: Error, Equatable, CustomStringConvertible {
        var description: String
    }

    /// - Parameter text: `name=number` with commas between; an empty one is no fault at all.
    init(_ text: String) throws(Problem) {
        for part in text.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard halves.count == 2 else { throw Problem(description: "'\(part)' is not name=number") }
            try set(halves[0], halves[1])
        }
        for (what, sum) in [
            ("requests", requests.values.reduce(0, +)), ("devices", devices.values.reduce(0, +)),
        ] where sum > 1 {
            throw Problem(description: "the shares of \(what) are \(sum) together; allowed is at most 1")
        }
    }

    private mutating func set(_ name: String, _ text: String) throws(Problem) {
        if let kind = Kind(rawValue: name) {
            requests[kind] = try Self.number(name, text, 0...1)
        } else if let kind = DeviceKind(rawValue: name) {
            devices[kind] = try Self.number(name, text, 0...1)
        } else {
            switch name {
            case "streams": connections.streams = try Self.number(name, text, 1...1_000_000)
            case "goaway": connections.goAwayAfter = try Self.number(name, text, 1...Int.max)
            case "cut": connections.resetEvery = try Self.number(name, text, 1...Int.max)
            case "stall": connections.stallAfter = try Self.number(name, text, 0...Int.max)
            case "retry-after": retryAfter = try Self.number(name, text, 0...86_400)
            case "clock": clock = try Self.number(name, text, -86_400_000...86_400_000)
            default:
                let names =
                    Kind.allCases.map(\.rawValue) + DeviceKind.allCases.map(\.rawValue)
                    + ["streams", "goaway", "cut", "stall", "retry-after", "clock"]
                throw Problem(description: "unknown fault '\(name)'; allowed are \(names.joined(separator: ", "))")
            }
        }
    }

    private static func number<Number: LosslessStringConvertible & Comparable>(
        _ name: String, _ text: String, _ allowed: ClosedRange<Number>
    ) throws(Problem) -> Number {
        guard let number = Number(text), allowed.contains(number) else {
            throw Problem(
                description: "\(name) is '\(text)'; allowed is \(allowed.lowerBound) to \(allowed.upperBound)")
        }
        return number
    }
}

extension FaultRates {
    /// What a provider does to each request, by these rates.
    func faults(seed: UInt64) -> StandInFaults {
        let dice = Mutex(FaultDice(self, seed: seed, since: milliseconds()))
        return { device in dice.withLock { $0.next(for: device) } }
    }
}

extension StandInFault {
    /// As ``FaultRates`` calls it, where that can make it.
    var name: String {
        switch self {
        case .unregistered: FaultRates.DeviceKind.dead.rawValue
        case .invalidToken: FaultRates.DeviceKind.invalid.rawValue
        case .mismatch: FaultRates.DeviceKind.mismatch.rawValue
        case .thirdPartyAuth: "third-party-auth"
        case .quota: FaultRates.Kind.quota.rawValue
        case .unavailable: FaultRates.Kind.unavailable.rawValue
        case .internalError: FaultRates.Kind.internal.rawValue
        case .htmlError: FaultRates.Kind.html.rawValue
        case .badMessage: "bad-message"
        case .other: "other"
        case .slow: FaultRates.Kind.slow.rawValue
        case .hang: FaultRates.Kind.hang.rawValue
        case .reset: FaultRates.Kind.reset.rawValue
        }
    }
}

/// Draws the faults of a provider by their rates: the same ones for the same seed and requests.
struct FaultDice: Sendable {
    private let rates: FaultRates
    /// In milliseconds since 1970.
    private let since: Int64
    private var state: UInt64

    init(_ rates: FaultRates, seed: UInt64, since: Int64) {
        self.rates = rates
        self.since = since
        state = seed
    }

    /// - Parameter device: the SHA-256 of its token, in hex.
    mutating func next(for device: String) -> StandInFault? {
        if let fault = fault(of: device) { return fault }
        var drawn = uniform()
        for kind in FaultRates.Kind.allCases {
            let share = rates.requests[kind] ?? 0
            if drawn < share { return fault(kind) }
            drawn -= share
        }
        return nil
    }

    private func fault(of device: String) -> StandInFault? {
        guard !rates.devices.isEmpty, let number = UInt32(device.prefix(8), radix: 16) else { return nil }
        // Those that are dead at a low rate are dead at a higher one, too.
        let fraction = Double(number) / 4_294_967_296
        if fraction < rates.devices[.dead] ?? 0 { return .unregistered(at: since + rates.clock) }
        let mismatch = rates.devices[.mismatch] ?? 0
        if fraction >= 1 - mismatch { return .mismatch }
        return fraction >= 1 - mismatch - (rates.devices[.invalid] ?? 0) ? .invalidToken : nil
    }

    private mutating func fault(_ kind: FaultRates.Kind) -> StandInFault {
        switch kind {
        case .quota: .quota(retryAfter())
        case .unavailable: .unavailable(retryAfter())
        case .internal: .internalError
        case .html: .htmlError
        case .slow: .slow(.seconds(2))
        case .hang: .hang
        case .reset: .reset
        }
    }

    /// In both forms.
    private mutating func retryAfter() -> StandInFault.RetryAfter {
        uniform() < 0.5 ? .seconds(rates.retryAfter) : .date(secondsFromNow: rates.retryAfter)
    }

    /// From 0 to below 1, by SplitMix64.
    private mutating func uniform() -> Double {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return Double((mixed ^ mixed >> 31) >> 11) * 0x1p-53
    }
}
