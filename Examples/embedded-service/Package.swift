// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "embedded-service",
    dependencies: [.package(name: "carillon", path: "../..")],
    targets: [
        .executableTarget(
            name: "embedded-service",
            dependencies: [.product(name: "Pipeline", package: "carillon")],
            // librdkafka allocates on one thread and frees on another: jemalloc saves a third of the CPU per record.
            linkerSettings: [.linkedLibrary("jemalloc")]
        ),
        .testTarget(
            name: "EmbeddedServiceTests",
            dependencies: ["embedded-service", .product(name: "CarillonTesting", package: "carillon")]),
    ],
    swiftLanguageModes: [.v6]
)
