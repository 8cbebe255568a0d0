import WholeFile

/// FCM with its token endpoint, and APNs, each on a free port of loopback, with the files of a sender for both.
package final class StandInProviders: Sendable {
    package enum Provider: String, Sendable {
        case fcm, apns

        /// As a person writes it.
        package var name: String {
            switch self {
            case .fcm: "FCM"
            case .apns: "APNs"
            }
        }

        /// The member of a request's body that has the push; nil where the body is the push.
        package var pushMember: String? {
            switch self {
            case .fcm: "message"
            case .apns: nil
            }
        }
    }

    package let fcm: FCMStandIn
    package let apns: APNSStandIn
    package let servers: (fcm: StandInServer, apns: StandInServer)
    /// What a sender has to trust.
    package let caFile: String
    /// The list for the setting `delivery.credentials`.
    package let credentialsFile: String
    package let serviceAccountFile: String
    package let apnsKeyFile: String

    /// Returns when both listen and the files are written, each readable by their owner only.
    ///
    /// - Parameter folder: exists.
    package init(folder: String) throws(StandInError) {
        let authority = try Authority()
        let (fcm, apns) = (try FCMStandIn(), try APNSStandIn())
        servers = (
            // As FCM and Google's token endpoint do. APNs speaks nothing but HTTP/2.
            try StandInServer(authority: authority, protocols: .http2OrHTTP1) { fcm.answer($0) },
            try StandInServer(authority: authority) { apns.answer($0) }
        )
        let keyName = "AuthKey_\(APNSStandIn.keyID).p8"
        caFile = folder + "/ca.pem"
        credentialsFile = folder + "/credentials.json"
        serviceAccountFile = folder + "/service-account.json"
        apnsKeyFile = "\(folder)/\(keyName)"
        (self.fcm, self.apns) = (fcm, apns)
        try Self.write(authority.pem, to: caFile)
        try Self.write(fcm.serviceAccount(servers.fcm), to: serviceAccountFile)
        try Self.write(apns.key.pem, to: apnsKeyFile)
        try Self.write(
            """
            [{"name":"project","provider":"fcm","service_account":"service-account.json"},
             {"name":"team","provider":"apns","key_file":"\(keyName)","key_id":"\(APNSStandIn.keyID)",
              "team_id":"\(APNSStandIn.teamID)"}]

            """, to: credentialsFile)
    }

    package var fcmURL: String { "https://127.0.0.1:\(servers.fcm.port)" }
    package var apnsURL: String { "https://127.0.0.1:\(servers.apns.port)" }

    /// The observer hears of each request from now on, on the thread of its provider's server.
    package func observe(_ observer: @escaping @Sendable (Provider, StandInRecord, StandInFault?) -> Void) {
        fcm.observe { observer(.fcm, $0, $1) }
        apns.observe { observer(.apns, $0, $1) }
    }

    /// Closes every connection and both ports.
    package func stop() {
        servers.fcm.stop()
        servers.apns.stop()
    }

    /// See ``WholeFile/write(_:to:)``.
    package static func write(_ text: String, to path: String) throws(StandInError) {
        do throws(WholeFile.Failure) {
            try WholeFile.write(Array(text.utf8), to: path)
        } catch {
            throw StandInError("\(path): \(error)")
        }
    }
}
