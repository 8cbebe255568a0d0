// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "carillon",
    products: [
        .executable(name: "carillon", targets: ["carillon"]),
        .library(name: "Pipeline", targets: ["Pipeline"]),
        .library(name: "KafkaClient", targets: ["KafkaClient"]),
        .library(name: "NotificationPayload", targets: ["NotificationPayload"]),
        .library(name: "CarillonTesting", targets: ["CarillonTesting"]),
    ],
    targets: [
        // Debian's C libraries, one door each.
        .systemLibrary(name: "CRDKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
        .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .target(name: "CSimdJSON", linkerSettings: [.linkedLibrary("simdjson")]),

        // The core: pure, synchronous, no I/O.
        .target(name: "NotificationPayload"),
        .target(name: "JSONReader", dependencies: ["CSimdJSON"]),
        .target(name: "Extraction", dependencies: ["NotificationPayload", "JSONReader", "COpenSSL"]),
        .target(name: "StateStore", dependencies: ["CLMDB"]),
        .target(
            name: "FanOut", dependencies: ["Extraction", "NotificationPayload", "StateStore", "JSONReader", "COpenSSL"]),

        // Kafka, and what runs on it.
        .target(name: "KafkaClient", dependencies: ["CRDKafka"]),
        .target(name: "Telemetry"),
        .target(
            name: "Pipeline",
            dependencies: ["FanOut", "NotificationPayload", "JSONReader", "KafkaClient", "Telemetry"]),

        // What did happen, and what would: without what delivers.
        .target(
            name: "Replay",
            dependencies: ["Pipeline", "StateStore", "JSONReader", "KafkaClient", "NotificationPayload"]),

        // What a host's tests need, and ours.
        .target(
            name: "CarillonTesting",
            dependencies: ["Pipeline", "FanOut", "Extraction", "NotificationPayload", "JSONReader", "KafkaClient"]),

        // What monitoring asks.
        .target(name: "HTTPServer", dependencies: ["CMicrohttpd"]),
        .target(name: "Console", dependencies: ["Pipeline", "HTTPServer", "Telemetry"]),

        // The command line.
        .target(name: "Arguments"),
        .executableTarget(
            name: "carillon",
            dependencies: [
                "Pipeline", "Replay", "Console", "HTTPServer", "FanOut", "KafkaClient", "Telemetry", "Arguments",
            ],
            linkerSettings: [.linkedLibrary("jemalloc")]
        ),

        .target(name: "TestSupport", path: "Tests/TestSupport"),
        .testTarget(name: "NotificationPayloadTests", dependencies: ["NotificationPayload", "TestSupport"]),
        .testTarget(name: "JSONReaderTests", dependencies: ["JSONReader"]),
        .testTarget(name: "ExtractionTests", dependencies: ["Extraction", "TestSupport"]),
        .testTarget(name: "StateStoreTests", dependencies: ["StateStore", "TestSupport"]),
        .testTarget(name: "FanOutTests", dependencies: ["FanOut", "Extraction", "StateStore", "TestSupport"]),
        .testTarget(name: "KafkaClientTests", dependencies: ["KafkaClient"]),
        .testTarget(name: "TelemetryTests", dependencies: ["Telemetry", "TestSupport"]),
        .testTarget(
            name: "PipelineTests", dependencies: ["CarillonTesting", "Pipeline", "NotificationPayload", "TestSupport"]),
        .testTarget(
            name: "ReplayTests", dependencies: ["CarillonTesting", "carillon", "Replay", "StateStore", "TestSupport"]),
        .testTarget(name: "HTTPServerTests", dependencies: ["HTTPServer"]),
        .testTarget(name: "ConsoleTests", dependencies: ["Console", "Pipeline", "Telemetry"]),
        .testTarget(name: "ArgumentsTests", dependencies: ["Arguments"]),
        .testTarget(name: "CarillonTests", dependencies: ["carillon"]),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)

// Scripts/fuzz sets it. Programs without a main of their own: only the fuzzer's flags link them.
if Context.environment["CARILLON_FUZZING"] != nil {
    package.targets += [
        .target(name: "FuzzSupport", dependencies: ["NotificationPayload"], path: "Tests/Fuzzing/FuzzSupport"),
        .executableTarget(
            name: "FuzzEvents", dependencies: ["FuzzSupport", "Extraction"], path: "Tests/Fuzzing/FuzzEvents"),
        .executableTarget(
            name: "FuzzEnvelopes", dependencies: ["FuzzSupport", "Pipeline"], path: "Tests/Fuzzing/FuzzEnvelopes"),
        .executableTarget(
            name: "FuzzSubscriptions", dependencies: ["FuzzSupport", "FanOut"], path: "Tests/Fuzzing/FuzzSubscriptions"),
    ]
}
