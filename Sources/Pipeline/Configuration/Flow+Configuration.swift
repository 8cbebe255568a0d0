extension Flow {
    /// Takes the rules and limits from a configuration.
    ///
    /// - Parameter recipients: where the devices of audiences come from.
    package init(
        _ configuration: PipelineConfiguration, audienceRule: any AudienceRule = OrderAudiences(),
        recipients: RecipientSource, findings: RequestFindings? = nil
    ) throws(SubscriptionTableError) {
        self.init(
            configuration,
            fanOut: try FanOut(
                audienceRule: audienceRule, recipients: recipients, maxAge: configuration.subscriptionsMaxAge,
                maxDevices: configuration.maxDevicesPerEvent, requestApps: configuration.requests.apps),
            findings: findings)
    }

    /// The same, with a given fan-out.
    package init(_ configuration: PipelineConfiguration, fanOut: consuming FanOut, findings: RequestFindings? = nil) {
        self.init(
            rules: configuration.rules, orders: configuration.orders, requests: configuration.requests,
            rendering: configuration.rendering,
            maxDevicesPerEvent: configuration.maxDevicesPerEvent,
            maxBytesPerEvent: configuration.maxBytesPerEvent, fanOut: fanOut, findings: findings)
    }
}
