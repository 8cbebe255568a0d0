// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "receiving-app",
    dependencies: [.package(name: "carillon", path: "../..")],
    targets: [
        .executableTarget(
            name: "receiving-app",
            dependencies: [
                .product(name: "DeviceRegistration", package: "carillon"),
                .product(name: "NotificationPayload", package: "carillon"),
            ]),
        .testTarget(
            name: "ReceivingAppTests",
            dependencies: ["receiving-app", .product(name: "NotificationPayload", package: "carillon")]),
    ],
    swiftLanguageModes: [.v6]
)
