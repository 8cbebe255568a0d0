import NotificationPayload
import Testing

@Suite("§5.5: the URL of an order")
struct DeepLinksTests {
    /// Document 3's own.
    private let links: DeepLinks

    init() throws {
        links = try DeepLinks(templates: [
            "food": "https://mikmik.site/track_order.php?order_id={order_id}",
            "d2d": "https://mikmik.site/d2d/track_d2d.php?order_id={order_id}",
        ])
    }

    @Test("document 3's examples")
    func documentExamples() {
        #expect(
            links.url(orderType: "food", orderID: "12345")
                == "https://mikmik.site/track_order.php?order_id=12345")
        #expect(
            links.url(orderType: "d2d", orderID: "67890")
                == "https://mikmik.site/d2d/track_d2d.php?order_id=67890")
    }

    @Test("the type is matched ignoring the case of ASCII letters, and of no others")
    func typeCase() {
        #expect(links.url(orderType: "FoOd", orderID: "1") != nil)
        #expect(links.url(orderType: "D2D", orderID: "1") != nil)
        #expect(links.url(orderType: "ＦＯＯＤ", orderID: "1") == nil)
    }

    @Test("an unknown type has no link, nor has an order without an id", arguments: ["", "parcel", " food", "food\0"])
    func unknownType(_ type: String) {
        #expect(links.url(orderType: type, orderID: "1") == nil)
        #expect(links.url(orderType: "food", orderID: "") == nil)
    }

    @Test(
        "every byte of the id but RFC 3986's unreserved characters is percent-encoded, also the plus sign",
        arguments: [
            ("AZaz09-._~", "AZaz09-._~"), ("a&b=c#d", "a%26b%3Dc%23d"), ("1+1 2", "1%2B1%202"),
            ("é😀", "%C3%A9%F0%9F%98%80"),
            ("%41/../{order_id}\"\0", "%2541%2F..%2F%7Border_id%7D%22%00"),
        ])
    func encoding(_ id: String, _ encoded: String) {
        #expect(
            links.url(orderType: "food", orderID: id) == "https://mikmik.site/track_order.php?order_id=\(encoded)"
        )
    }

    @Test("a template may have the id anywhere after the host; a type without one has no URL")
    func ownTemplates() throws {
        let links = try DeepLinks(templates: ["food": "https://shop.example:8443/o/{order_id}/track?from=push#top"])
        #expect(
            links.url(for: DeepLinkKeys(orderType: "FOOD", orderID: "4/7"))
                == "https://shop.example:8443/o/4%2F7/track?from=push#top")
        #expect(links.url(orderType: "d2d", orderID: "7") == nil)
        #expect(DeepLinks().url(orderType: "food", orderID: "7") == nil)
    }

    @Test(
        "a template that is not an https URL with the id once after its host is refused",
        arguments: [
            "", "{order_id}", "http://a.example/{order_id}", "HTTPS://a.example/{order_id}", "https:///{order_id}",
            "https://{order_id}/", "https://{order_id}.a.example/", "https://a.example@b.example/{order_id}",
            "https://a.example/", "https://a.example/{id}", "https://a.example/{order_id}/{order_id}",
            "https://a.example/{order_id", "https://a.example/order_id}", "https://a.example/{order_id}}",
            "https://a.example/{{order_id}}", "https://a.example/{order_id}?t={order_type}",
            "https://a.example/ {order_id}", "https://a.example/é/{order_id}", "https://a.example/\n{order_id}",
            "https://a.example\\{order_id}", "javascript://a.example/{order_id}",
        ])
    func badTemplate(_ template: String) {
        let problem = FieldProblem(
            field: "d2d", found: template,
            allowed: "an https URL with {order_id} once after its host, and no other placeholder")
        #expect(throws: DeepLinksError(problems: [problem])) { try DeepLinks(templates: ["d2d": template]) }
    }

    @Test("every problem is named at once, an unknown type of order among them")
    func allProblems() {
        let error = #expect(throws: DeepLinksError.self) {
            try DeepLinks(templates: ["parcel": "https://a.example/{order_id}", "food": "http://a.example/{order_id}"])
        }
        #expect(
            error?.description == """
                deep links: food is "http://a.example/{order_id}"; it must be an https URL with {order_id} once after \
                its host, and no other placeholder; the type of order is "parcel"; it must be food or d2d
                """)
    }
}
