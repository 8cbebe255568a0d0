import DispatchRecords
import FanOut
import Subscriptions

extension PipelineCore {
    /// Takes the rules and limits from a configuration.
    ///
    /// - Parameters:
    ///   - recipients: where the devices of audiences come from.
    ///   - grouping: of the dispatch records; that of the configuration is for whoever writes what is delivered.
    package init(
        _ configuration: PipelineConfiguration, audienceRule: any AudienceRule = PlaceAudience(),
        recipients: RecipientSource, grouping: DispatchGrouping = .device
    ) throws(SubscriptionTableError) {
        self.init(
            configuration,
            fanOut: try FanOut(
                audienceRule: audienceRule, recipients: recipients, maxAge: configuration.subscriptionsMaxAge,
                maxDevices: configuration.maxDevicesPerEvent), grouping: grouping)
    }

    /// The same, with a given fan-out.
    package init(
        _ configuration: PipelineConfiguration, fanOut: consuming FanOut, grouping: DispatchGrouping = .device
    ) {
        self.init(
            rules: configuration.rules, orders: configuration.orders, requests: configuration.requests,
            rendering: configuration.rendering,
            maxDevicesPerEvent: configuration.maxDevicesPerEvent, grouping: grouping, fanOut: fanOut)
    }
}
