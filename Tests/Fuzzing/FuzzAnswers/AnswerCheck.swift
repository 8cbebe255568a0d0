import FuzzSupport

@testable import Notifications
@testable import Sender
@testable import Time

/// What an answer means is within bounds, is the same a second time, and ends its push or has it tried again.
struct AnswerCheck: ~Copyable {
    private var reader = AnswerReader()

    mutating func check(_ input: Input) {
        for platform in Platform.allCases {
            let verdict = read(input, platform)
            expect(read(input, platform) == verdict, "the same answer means the same: \(verdict)")
            checkBounds(verdict)
            checkMeaning(verdict, input.status, platform)
            Push(platform).end(with: verdict, input.status)
        }
        checkToken(input)
    }

    private mutating func read(_ input: Input, _ platform: Platform) -> Verdict {
        let answer = ProviderAnswer(status: input.status, body: input.body) { input.text($0) }
        return reader.verdict(of: answer, from: platform, now: Input.now)
    }

    private func checkBounds(_ verdict: Verdict) {
        switch verdict {
        case .accepted(let name):
            guard let name else { return }
            expect((1...256).contains(name.utf8.count) && name.isVisible, "a name is short and visible: \(name)")
        case .deadDevice(let reason, .at(let time)):
            checkCode(reason)
            expect(time >= .epoch, "evidence is a time: \(time)")
        case .retry(let reason, let counts, let after, let advised):
            checkCode(reason)
            expect(counts, "whoever answers got the request")
            checkWaits(after, advised)
        case .slowDown(let reason, let after, let advised):
            checkCode(reason)
            checkWaits(after, advised)
        case .deadDevice(let reason, .now), .refused(let reason), .refreshCredential(let reason),
            .pauseCredential(let reason):
            checkCode(reason)
        }
    }

    private func checkWaits(_ after: Int64?, _ advised: Int64) {
        for wait in [after ?? 0, advised] {
            expect((0...86_400_000).contains(wait), "a wait is at most a day: \(wait)")
        }
    }

    private func checkCode(_ code: String) {
        expect((1...64).contains(code.utf8.count) && code.isVisible, "a code is short and visible: \(code)")
    }

    /// docs/rules.md §11: what must not be read out of another status, whatever the body says.
    private func checkMeaning(_ verdict: Verdict, _ status: Int, _ platform: Platform) {
        switch (verdict, platform) {
        case (.accepted, _): expect(status == 200, "only 200 is accepted: \(status)")
        case (.deadDevice, .fcm): expect(status == 400 || status == 404, "no dead device by \(status)")
        case (.deadDevice, .apns): expect(status == 410, "no dead device by \(status)")
        case (.refreshCredential, _): expect(status == (platform == .fcm ? 401 : 403), "no new token by \(status)")
        case (.pauseCredential, _): expect(status == 403 || status == 404, "no credential pauses by \(status)")
        case (.slowDown, _): expect(status == 429 && platform == .fcm, "no slower by \(status)")
        case (.refused, .fcm): break
        case (.refused, .apns): expect((400...499).contains(status), "not refused by \(status)")
        case (.retry, _): expect(status != 200, "200 is not tried again")
        }
    }

    private func checkToken(_ input: Input) {
        let answer = AccessTokenAnswer(status: input.status, body: input.body)
        var token = AccessToken()
        expect(token.begin(now: Input.now), "the first token is asked for at once")
        let reason = token.complete(answer, now: Input.now)
        switch answer {
        case .token(let found, let life):
            expect(input.status == 200, "a token comes with 200")
            expect((1_000...604_800_000).contains(life), "a token lives for a second to a week: \(life)")
            expect(found.header("Bearer").dropFirst(7).description.isVisible, "a token is visible")
            expect("\(found)" == "<redacted>", "a token is not shown")
            expect(token.current(now: Input.now) == found && reason == nil, "a token is used")
            expect(token.current(now: Input.now + life) == nil, "and not longer than it lives")
        case .refused(let code):
            checkCode(code)
            expect(reason == code && !token.begin(now: Input.now), "a refusal is told, and waits")
        case .failed(let code):
            checkCode(code)
            expect(reason == nil && !token.begin(now: Input.now), "a failure waits")
        }
    }
}

/// Any header and the body as `Retry-After` and as a date.
func checkDates(_ input: Input) {
    for text in input.headers.compactMap(\.value).map({ String(decoding: $0, as: UTF8.self) }) + [input.bodyText] {
        if let date = HTTPDate.time(text) {
            expect(
                (-62_135_596_800_000...253_402_300_800_000).contains(date.milliseconds),
                "a date of year 1 to 9999: \(date)")
            expect(RetryAfter(text) == .date(date), "a date is one of Retry-After: \(text)")
            if let written = imfDate(date) {
                expect(HTTPDate.time(written) == date, "written and read again it is the same: \(written)")
            }
        }
        guard let after = RetryAfter(text) else { continue }
        for now in [.distantPast, .epoch, Input.now, .distantFuture] {
            expect((0...86_400_000).contains(after.wait(now: now)), "a wait is at most a day: \(after), \(now)")
        }
    }
}

/// As RFC 9110 §5.6.7 prefers it; nil beyond year 9999. The name of the day is not read.
private func imfDate(_ instant: WallTime) -> String? {
    let seconds = instant.milliseconds / 1_000
    let days = (instant >= .epoch ? seconds : seconds - 86_399) / 86_400
    let time = seconds - days * 86_400
    guard let date = CivilDate(daysSinceEpoch: Int(days)) else { return nil }
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    func digits(_ number: Int, _ count: Int) -> String {
        String(repeating: "0", count: max(0, count - "\(number)".utf8.count)) + "\(number)"
    }
    let clock = [time / 3_600, time / 60 % 60, time % 60].map { digits(Int($0), 2) }.joined(separator: ":")
    return "Mon, \(digits(date.day, 2)) \(months[date.month - 1]) \(digits(date.year, 4)) \(clock) GMT"
}
