import Notifications

/// An Android phone and an iPhone for everybody.
package struct TwoDevices: TokenResolver {
    package static let androidToken = "token"
    package static let appleToken = "00ff"

    package init() {}

    package func resolve(_ audiences: borrowing AudienceList, into devices: inout DeviceList) {
        for audience in 0..<audiences.count {
            devices.append(token: Self.androidToken, platform: .fcm, app: "com.example.app", to: audience)
            devices.append(token: Self.appleToken, platform: .apns, app: "com.example.App", to: audience)
        }
    }
}
