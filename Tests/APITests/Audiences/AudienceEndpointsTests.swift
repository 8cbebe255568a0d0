import Foundation
import HTTPServer
import Notifications
import StateStore
import Synchronization
import TestSupport
import Testing
import Time

@testable import API
@testable import Registrar

@Suite("API: who is subscribed to an audience", .timeLimit(.minutes(30))) struct AudienceEndpointsTests {
    private let desk: PlayedDesk

    init() throws { desk = try PlayedDesk() }

    /// What somebody else than the registrar writes.
    private func write(_ subscriptions: [Subscription], isGone: Bool = false) throws {
        try desk.registrar.view.update { table throws(StoreError) in
            for each in subscriptions {
                table?.take(
                    SubscriptionKey(audience: each.audience, token: each.token), isGone ? nil : each.encoded())
            }
            table?.commit()
        }
    }

    private func subscription(
        _ audience: String, _ token: String, _ platform: Platform = .fcm, app: String = "com.example.shop",
        locale: String? = nil, seen: WallTime? = Shop.now
    ) -> Subscription {
        Subscription(
            audience: audience, token: token, platform: platform, app: app, locale: locale, lastSeenAt: seen)
    }

    private struct Page: Decodable {
        struct Item: Decodable {
            var device: String?
            var addressSha256: String
            var locale: String?
        }
        var items: [Item]
        var next: String?
    }

    private func page(_ audience: String, _ query: String = "") throws -> Page {
        let answer = desk.ask("GET", "/v1/audiences/\(RequestTarget.encoded(audience))/devices\(query)")
        #expect(answer.status == .ok, "\(answer.body)")
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Page.self, from: Data(answer.body.utf8))
    }

    private func all(_ audience: String, limit: Int, between pages: () throws -> Void = {}) throws -> [Page.Item] {
        var (items, cursor): ([Page.Item], String?) = ([], nil)
        repeat {
            let page = try page(audience, "?limit=\(limit)" + (cursor.map { "&cursor=\($0)" } ?? ""))
            #expect(page.items.count <= limit)
            items += page.items
            cursor = page.next
            try pages()
        } while cursor != nil
        return items
    }

    @Test("a device of the registrar is named, an address that is none's by its hash; neither address is told")
    func items() throws {
        _ = desk.register("fid-1", #","audiences":["place/42"],"person":"17","locale":"de-AT""#)
        try write([subscription("place/42", "token-1", seen: nil), subscription("place/43", "token-2")])
        let known =
            #"{"device":"installation-0001","address_sha256":"\#(AddressHash(of: "fid-1").hex)","platform":"fcm","#
            + #""app":"com.example.shop","environment":"production","locale":"de-AT","last_seen_at":"\#(Shop.now.iso8601)"}"#
        let foreign =
            #"{"address_sha256":"\#(AddressHash(of: "token-1").hex)","platform":"fcm","app":"com.example.shop","#
            + #""environment":"production"}"#
        let sorted = [(AddressHash(of: "fid-1").hex, known), (AddressHash(of: "token-1").hex, foreign)]
            .sorted { $0.0 < $1.0 }.map(\.1)
        let answer = desk.ask("GET", "/v1/audiences/place%2F42/devices")
        #expect(answer.body == #"{"items":[\#(sorted.joined(separator: ","))]}"#)
        for audience in ["user/17", "device/\(AddressHash(of: "fid-1").hex)"] {
            #expect(try page(audience).items.map(\.device) == [PlayedDesk.phone])
        }
        #expect(desk.ask("DELETE", "\(PlayedDesk.path)/person").status == .noContent)
        #expect(try page("user/17").items.isEmpty && page("place/42").items.count == 1)
    }

    @Test("pages have every device that stays exactly once, while others come and go, stored or not")
    func pages() throws {
        var random = SeededGenerator(seed: try RunSeed.value())
        let staying = (0..<257).map { subscription("channel/offers", "stays-\($0)") }
        try write(staying)
        try write((0..<50).map { subscription("channel/other", "other-\($0)") })
        for limit in [1, 7, 100, 256, 257, 258, 1_000] {
            let found = try all("channel/offers", limit: limit) {
                let number = Int.random(in: 0..<20, using: &random)
                try write([subscription("channel/offers", "comes-\(number)")], isGone: Bool.random(using: &random))
                if Int.random(in: 0..<4, using: &random) == 0 {
                    try desk.registrar.view.update { table throws(StoreError) in
                        guard let table else { return }
                        let flush = table.beginFlush([])
                        try flush.write()
                        try table.end(flush, isWritten: true)
                    }
                }
            }
            let hashes = found.map(\.addressSha256)
            #expect(hashes == hashes.sorted() && Set(hashes).count == hashes.count, "limit \(limit)")
            #expect(Set(hashes).isSuperset(of: staying.map(\.tokenHash)), "limit \(limit)")
            #expect(hashes.count <= staying.count + 20)
        }
        try write((0..<20).map { subscription("channel/offers", "comes-\($0)") }, isGone: true)
        #expect(try all("channel/offers", limit: 100).map(\.addressSha256) == staying.map(\.tokenHash).sorted())
    }

    @Test("devices are counted by provider, app and language, and those that are too old")
    func counts() throws {
        let old = Shop.now - 271 * 86_400_000
        try write([
            subscription("place/42", "token-1", locale: "de-AT"), subscription("place/42", "token-2", locale: "DE"),
            subscription("place/42", "token-3", app: "com.example.other", locale: "pt_BR", seen: old),
            subscription("place/42", "0a1b", .apns, seen: nil), subscription("place/43", "token-4"),
        ])
        let answer = desk.ask("GET", "/v1/audiences/place%2F42")
        #expect(
            answer.body
                == #"{"audience":"place/42","devices":4,"stale":1,"platforms":{"fcm":3,"apns":1},"#
                + #""apps":[{"app":"com.example.shop","devices":3},{"app":"com.example.other","devices":1}],"#
                + #""languages":[{"language":"de","devices":2},{"language":"pt","devices":1}]}"#)
        try write((0..<150).map { subscription("place/44", "t-\($0)", app: "app.\($0)") })
        let many = desk.ask("GET", "/v1/audiences/place%2F44")
        #expect(many.body.contains(#""devices":150,"#) && many.body.matches(of: /"app":/).count == 100)
    }

    @Test("an audience of more devices than are counted says so, and its pages are there")
    func tooMany() throws {
        try write((0..<PlayedDesk.mostCounted).map { subscription("channel/all", "t-\($0)") })
        let all = #""devices":\#(PlayedDesk.mostCounted),"#
        #expect(desk.ask("GET", "/v1/audiences/channel%2Fall").body.contains(all))
        try write([subscription("channel/all", "one more")])
        #expect(desk.ask("GET", "/v1/audiences/channel%2Fall").body.contains(all))
        try write([subscription("channel/all", "one-more")])
        let answer = desk.ask("GET", "/v1/audiences/channel%2Fall")
        #expect(answer.status == .conflict && answer.body.contains(#""code":"incomplete""#))
        #expect(try page("channel/all").items.count == 100)
    }

    @Test("an audience that nobody has is empty; one that is none, and a page that is none, are refused")
    func unknown() throws {
        #expect(desk.ask("GET", "/v1/audiences/place%2F42/devices").body == #"{"items":[]}"#)
        #expect(desk.ask("GET", "/v1/audiences/place%2F42").body.contains(#""devices":0,"#))
        for audience in [
            "place", "Place%2F42", "team%2F7", "place%2F", "device%2Fabc",
            "place%2F" + String(repeating: "a", count: 1_020),
        ] {
            for target in ["/v1/audiences/\(audience)", "/v1/audiences/\(audience)/devices"] {
                let answer = desk.ask("GET", target)
                #expect(answer.status == .badRequest && answer.body.contains("bad-path"), "\(target)")
            }
        }
        // Not decoded twice.
        #expect(desk.ask("GET", "/v1/audiences/place%252F42").status == .badRequest)
        for query in [
            "limit=0", "limit=1001", "limit=x", "cursor=7", "cursor=" + String(repeating: "A", count: 64), "at=1",
        ] {
            #expect(desk.ask("GET", "/v1/audiences/place%2F42/devices?\(query)").status == .badRequest, "\(query)")
        }
    }

    @Test("it is for keys that may read every device: not for users, and not for a key of some audiences")
    func callers() throws {
        for target in ["/v1/audiences/user%2F17", "/v1/audiences/user%2F17/devices"] {
            #expect(desk.ask("GET", target, as: try desk.user("17")).status == .unauthorized)
            #expect(try PlayedDesk(scopes: [.writeDevices]).ask("GET", target).status == .forbidden)
            let bound = try PlayedDesk(scopes: [.readDevices], audiences: ["user/17"]).ask("GET", target)
            #expect(bound.status == .forbidden && bound.body.contains("audience-not-allowed"))
        }
    }

    @Test("what is known must not be too old, and with Carillon-After be as new as the question")
    func freshness() throws {
        let (view, board) = (desk.registrar.view, desk.registrar.board)
        for target in ["/v1/audiences/place%2F42", "/v1/audiences/place%2F42/devices"] {
            func ask(after position: String) -> HTTPResponse {
                desk.ask("GET", target, "", ["carillon-after": position])
            }
            view.reached(.now - .seconds(1))
            #expect(ask(after: "x").status == .badRequest)
            #expect(desk.ask("GET", target).status == .ok)
            let late = meanwhile {
                board.expire(now: .now + .seconds(3_600))
            } _: {
                ask(after: "7")
            }
            #expect(late.status == .serviceUnavailable && late.body.contains("not-yet"))
            let known = meanwhile {
                view.reached(.now)
                board.look()
            } _: {
                ask(after: "7")
            }
            #expect(known.status == .ok, "\(known.body)")
            view.reached(.now - .seconds(3_600))
            #expect(desk.ask("GET", target).status == .serviceUnavailable)
        }
    }

    private final class Flag: Sendable {
        let value = Mutex(false)
    }

    /// - Parameter again: what another thread does until there is an answer.
    private func meanwhile(
        _ again: @escaping @Sendable () -> Void, _ answer: () -> HTTPResponse
    ) -> HTTPResponse {
        let isOver = Flag()
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            while !isOver.value.withLock({ $0 }) {
                again()
                sched_yield()
            }
            ended.signal()
        }
        defer {
            isOver.value.withLock { $0 = true }
            ended.wait()
        }
        return answer()
    }
}
