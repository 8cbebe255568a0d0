import JSONReader
import KafkaClient
import NotificationPayload
import Notifications

/// Who has a phone in the demo, and what is written to Kafka. None of it has a time of its own: it is of now.
enum DemoSamples {
    /// A person and a phone. The tokens are made up.
    struct Phone {
        let owner: String
        let kind: String
        let subscription: Subscription

        init(
            _ owner: String, _ kind: String, _ platform: Platform, _ audiences: String, token: String,
            locale: String = "en-GB"
        ) {
            self.owner = owner
            self.kind = kind
            subscription = Subscription(
                audience: audiences, token: token, platform: platform, app: "com.example.shop", locale: locale)
        }

        /// What has it in a topic, and in a request's record.
        var hash: String { SubscriptionKey.tokenHash(of: subscription.token) }
        /// `Anna (Android)`
        var name: String { "\(owner) (\(kind))" }

        /// A record of `topic.subscriptions`.
        func record(of audience: String? = nil) -> ProducerRecord {
            var subscription = subscription
            if let audience { subscription.audience = audience }
            return ProducerRecord(key: Array(subscription.key.utf8), value: subscription.encoded())
        }
    }

    static let anna = Phone("Anna", "Android", .fcm, "place/42", token: "made-up-token-of-anna")
    static let ben = Phone("Ben", "iPhone", .apns, "place/42", token: String(repeating: "0b", count: 32))
    static let lost = Phone("A lost phone", "iPhone", .apns, "place/7", token: String(repeating: "1d", count: 32))
    static let carla = Phone("Carla", "Android", .fcm, "user/carla", token: "made-up-token-of-carla")
    static let dora = Phone(
        "Dora", "iPhone", .apns, "channel/news", token: String(repeating: "4e", count: 32), locale: "de-AT")
    static let emil = Phone("Emil", "Android", .fcm, "place/9", token: "made-up-token-of-emil")
    static let phones = [anna, ben, lost, carla, dora, emil]

    /// All but those of Dora, who comes later, and Emil, who registers over HTTP.
    static let subscriptions =
        [anna, ben, lost, carla].map { $0.record() } + [carla.record(of: "channel/news")]

    /// The titles and bodies of order pushes, for `display=on`.
    static func texts() throws(InvalidForm) -> DisplayTemplates {
        try DisplayTemplates(
            json: Array(
                """
                {"default":"en","languages":{"en":{
                  "order_created":{"title":"New order {visible_id}","body":"Wanted from {start_time} to {end_time}."},
                  "order_status_changed/picked":{"title":"Order {order_number}","body":"Ready to be collected."}}}}
                """.utf8))
    }

    static let created = event(
        "4711", "ORDER_CREATED", #""order_number":"A-17","place_id":"42","status":"pending","# + slot)
    static let picked = event(
        "4711", "ORDER_STATUS_CHANGED",
        #""order_number":"A-17","place_id":"42","previous_status":"pending","status":"picked","# + slot)
    /// The body with which Emil's phone registers.
    static let emilsDevice =
        #"{"address":{"kind":"registration_token","value":"\#(emil.subscription.token)"},"#
        + #""app":"com.example.shop","locale":"en-GB","person":"emil","audiences":["place/9"]}"#
    /// The body of an event of a backend.
    static let posted = body("4714", "ORDER_CREATED", #""order_number":"A-19","place_id":"9","# + slot)
    static let elsewhere = event("4712", "ORDER_CREATED", #""order_number":"A-18","place_id":"7","# + slot)
    static let broken = ProducerRecord(
        key: Array("4713".utf8), value: Array(#"{"event_type":"ORDER_CREATED","order":"#.utf8))

    private static let slot = #""shipping_info":{"slot":{"start_time":"14:00","end_time":"16:00"}}"#

    private static func event(_ order: String, _ type: String, _ members: String) -> ProducerRecord {
        ProducerRecord(key: Array(order.utf8), value: Array(body(order, type, members).utf8))
    }

    private static func body(_ order: String, _ type: String, _ members: String) -> String {
        #"{"event_type":"\#(type)","order":{"id":"\#(order)",\#(members)}}"#
    }

    static let onItsWay = ProducerRecord(
        key: Array("user/carla".utf8),
        value: Array(
            #"{"request_id":"way-4711","audience":"user/carla","message":{"title":"On its way","body":"Tap to track it.","extras":{"order_type":"food","order_id":"4711"}}}"#
                .utf8))

    /// What the app of the demo's shop opens.
    static let links = (try? DeepLinks(templates: ["food": "https://shop.example/orders/{order_id}"])) ?? DeepLinks()

    /// In two languages, valid for an hour.
    static let news = ProducerRecord(
        key: Array("news-7".utf8),
        value: Array(
            #"{"actiontype":"display","notificationtype":"news","notificationid":"news-7","channel":"news","expiry":"3600000millis","fields":[{"language":"en","title":"Back at noon","msg":"Orders are taken again at noon."},{"language":"de","title":"Zurück um zwölf","msg":"Ab zwölf Uhr nehmen wir wieder Bestellungen an."}]}"#
                .utf8))
}
