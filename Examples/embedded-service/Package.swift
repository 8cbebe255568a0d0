// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "embedded-service",
    dependencies: [.package(name: "carillon", path: "../..")],
    targets: [
        .executableTarget(
            name: "embedded-service",
            dependencies: [.product(name: "Pipeline", package: "carillon")],
            // librdkafka allocates on one thread and frees on another: with jemalloc a record costs a third less.
            linkerSettings: [.linkedLibrary("jemalloc")]
        ),
        .testTarget(
            name: "EmbeddedServiceTests",
            dependencies: ["embedded-service", .product(name: "CarillonTesting", package: "carillon")]),
    ],
    swiftLanguageModes: [.v6]
)
