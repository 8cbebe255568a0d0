import Digests
import Testing

@testable import ProviderStandIn
@testable import provider_stand_in

@Suite("The faults of a stand-in by rates") struct FaultRatesTests {
    private func drawn(_ text: String, count: Int = 20_000, seed: UInt64 = 7) throws -> [String: Int] {
        var dice = FaultDice(try FaultRates(text), seed: seed, since: 1_000)
        var counts: [String: Int] = [:]
        for number in 0..<count {
            guard let fault = dice.next(for: SHA256.hex(of: "device \(number)")) else { continue }
            counts[fault.name, default: 0] += 1
        }
        return counts
    }

    @Test(
        "each kind is met at its rate, and the same requests meet the same faults again",
        arguments: [1, 2, 3] as [UInt64])
    func rates(seed: UInt64) throws {
        let text = "quota=0.1, unavailable=0.05, internal=0.02, html=0.01, slow=0.2, hang=0.03, reset=0.04"
        let counts = try drawn(text, seed: seed)
        for (name, share) in [
            ("quota", 0.1), ("unavailable", 0.05), ("internal", 0.02), ("html", 0.01), ("slow", 0.2), ("hang", 0.03),
            ("reset", 0.04),
        ] {
            // Six standard deviations.
            let wanted = share * 20_000
            #expect(abs(Double(counts[name] ?? 0) - wanted) < 6 * (wanted * (1 - share)).squareRoot(), "\(name)")
        }
        #expect(try drawn(text, seed: seed) == counts)
        #expect(try drawn("") == [:])
    }

    @Test("what befalls a device befalls it at every request, and its share may grow")
    func devices() throws {
        var few = FaultDice(try FaultRates("dead=0.1,invalid=0.2,mismatch=0.3,clock=5000"), seed: 1, since: 1_000)
        var many = FaultDice(try FaultRates("dead=0.4"), seed: 2, since: 2_000)
        var counts: [String: Int] = [:]
        for number in 0..<2_000 {
            let device = SHA256.hex(of: "device \(number)")
            let fault = few.next(for: device)
            #expect(few.next(for: device) == fault)
            counts[fault?.name ?? "none", default: 0] += 1
            guard fault?.name == "dead" else { continue }
            #expect(fault == .unregistered(at: 6_000))
            #expect(many.next(for: device) == .unregistered(at: 2_000))
        }
        #expect(counts.keys.sorted() == ["dead", "invalid", "mismatch", "none"])
        #expect((150...250).contains(counts["dead"] ?? 0))
        #expect((500...700).contains(counts["mismatch"] ?? 0))
    }

    @Test("the faults of connections")
    func connections() throws {
        let faults = try FaultRates("streams=7,goaway=500 cut=900\nstall=3").connections
        #expect(faults.streams == 7)
        #expect(faults.goAwayAfter == 500)
        #expect(faults.resetEvery == 900)
        #expect(faults.stallAfter == 3)
    }

    @Test(
        "a text that is no rates says what is allowed",
        arguments: [
            ("quota", "'quota' is not name=number"),
            ("quota=2", "quota is '2'; allowed is 0.0 to 1.0"),
            ("streams=0", "streams is '0'; allowed is 1 to 1000000"),
            ("slow=0.6,hang=0.6", "the shares of requests are 1.2 together; allowed is at most 1"),
            (
                "flood=1",
                "unknown fault 'flood'; allowed are quota, unavailable, internal, html, slow, hang, reset, dead, invalid, "
                    + "mismatch, streams, goaway, cut, stall, retry-after, clock"
            ),
        ])
    func wrong(text: String, problem: String) {
        #expect(throws: FaultRates.Problem(description: problem)) { try FaultRates(text) }
    }

    @Test("a stand-in meets them, and its observer is told of each request, also of one that is reset")
    func observed() throws {
        let apns = try APNSStandIn()
        let seen = Observed()
        apns.observe(seen.add)
        let key = apns.key.jwt(
            header: #"{"alg":"ES256","kid":"\#(APNSStandIn.keyID)"}"#,
            claims: #"{"iss":"\#(APNSStandIn.teamID)","iat":\#(UnixTime.now)}"#)
        for rates in ["", "reset=1", "quota=1,retry-after=9", "dead=1"] {
            apns.setFaults(try FaultRates(rates).faults(seed: 1))
            let answer = apns.answer(
                .post(
                    "/3/device/00112233445566778899aabbccddeeff",
                    [("authorization", "bearer \(key)"), ("apns-topic", "a.b"), ("apns-push-type", "alert")],
                    #"{"aps":{}}"#))
            if rates.hasPrefix("quota") { #expect(answer[header: "retry-after"] != nil) }
        }
        let lines = seen.all.map { "\($0.record.status) \($0.fault?.name ?? "none")" }
        #expect(lines == ["200 none", "200 reset", "429 quota", "410 dead"])
    }
}
