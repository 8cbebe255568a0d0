// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "carillon",
    products: [
        .executable(name: "carillon", targets: ["carillon"]),
        .library(name: "Pipeline", targets: ["Pipeline"]),
        .library(name: "Broadcasts", targets: ["Broadcasts"]),
        .library(name: "Sender", targets: ["Sender"]),
        .library(name: "Registrar", targets: ["Registrar"]),
        .library(name: "KafkaClient", targets: ["KafkaClient"]),
        .library(name: "NotificationPayload", targets: ["NotificationPayload"]),
        .library(name: "DeviceRegistration", targets: ["DeviceRegistration"]),
        .library(name: "CarillonTesting", targets: ["CarillonTesting"]),
    ],
    targets: [
        // Debian's C libraries, one door each.
        .systemLibrary(name: "CRDKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
        .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "CTLS", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .target(name: "CSimdJSON", linkerSettings: [.linkedLibrary("simdjson")]),

        // Small machinery: each stands alone.
        .target(name: "Time"),
        .target(name: "NotificationPayload"),
        .target(name: "DeviceRegistration", dependencies: ["NotificationPayload"]),
        .target(name: "Digests", dependencies: ["COpenSSL"]),
        .target(name: "JSONReader", dependencies: ["CSimdJSON"]),
        .target(name: "WholeFile"),
        .target(name: "StateStore", dependencies: ["CLMDB", "WholeFile"]),
        .target(name: "KafkaClient", dependencies: ["CRDKafka", "Time"]),
        .target(name: "Telemetry", dependencies: ["Time"]),
        // Threads, draining, waiting for a broker: what every daemon needs.
        .target(name: "Hosting", dependencies: ["KafkaClient", "Telemetry"]),
        // Kafka's transactions: what the workers of all daemons are made of.
        .target(name: "Streaming", dependencies: ["Hosting", "KafkaClient", "Telemetry"]),
        .target(name: "HTTPServer", dependencies: ["CMicrohttpd"]),
        .target(name: "HTTPClient", dependencies: ["CCurl", "CNGHTTP2"]),
        .target(name: "Arguments"),

        // The stages, in the order of the flow: pure and synchronous. Only the stores on disk do I/O.
        .target(
            name: "Notifications", dependencies: ["Digests", "JSONReader", "NotificationPayload", "StateStore", "Time"]),

        // The flow on Kafka: core, workers, follower, configuration.
        .target(
            name: "Pipeline",
            dependencies: [
                "Digests", "Hosting", "JSONReader", "KafkaClient", "NotificationPayload", "Notifications", "StateStore",
                "Streaming", "Telemetry",
            ]),

        // The sender of what the pipeline writes: lanes, transactions, HTTP.
        .target(
            name: "Sender",
            dependencies: [
                "Digests", "Hosting", "HTTPClient", "JSONReader", "KafkaClient", "NotificationPayload", "Notifications",
                "Pipeline", "Registrar", "Streaming", "Telemetry", "Time",
            ]),

        // Messages to everybody of a channel: a worker of its own over the subscriptions.
        .target(
            name: "Broadcasts",
            dependencies: [
                "Digests", "Hosting", "JSONReader", "KafkaClient", "NotificationPayload", "Notifications", "Pipeline",
                "StateStore", "Streaming", "Telemetry",
            ]),

        // Devices, their addresses and their people: who is subscribed.
        .target(
            name: "Registrar",
            dependencies: [
                "Digests", "Hosting", "JSONReader", "KafkaClient", "Notifications", "Pipeline", "StateStore",
                "Streaming", "Telemetry", "Time",
            ]),

        // What did happen, and what would: without what delivers.
        .target(
            name: "Replay",
            dependencies: [
                "Broadcasts", "CSQLite", "Digests", "JSONReader", "KafkaClient", "NotificationPayload", "Notifications",
                "Pipeline", "Registrar", "StateStore",
            ]),

        // What a host's tests need, and ours.
        .target(
            name: "CarillonTesting",
            dependencies: ["JSONReader", "KafkaClient", "NotificationPayload", "Notifications", "Pipeline"]),

        // The providers of push services, played on loopback: for tests and demonstrations.
        .target(
            name: "ProviderStandIn", dependencies: ["CNGHTTP2", "CTLS", "Digests", "JSONReader", "WholeFile"]),

        // What monitoring asks.
        .target(name: "Console", dependencies: ["HTTPServer", "Pipeline", "Telemetry"]),

        // What backends ask over HTTP.
        .target(
            name: "API",
            dependencies: [
                "Broadcasts", "Digests", "Hosting", "HTTPServer", "JSONReader", "KafkaClient", "NotificationPayload",
                "Notifications", "Pipeline", "Registrar", "Replay", "StateStore", "Telemetry", "Time", "WholeFile",
            ]),

        // The command line.
        .executableTarget(
            name: "carillon",
            dependencies: [
                "API", "Arguments", "Broadcasts", "Console", "Sender", "Digests", "HTTPClient", "HTTPServer",
                "JSONReader",
                "KafkaClient", "NotificationPayload", "Notifications", "Pipeline", "ProviderStandIn",
                "Registrar", "Replay", "Telemetry", "Time",
            ],
            linkerSettings: [.linkedLibrary("jemalloc")]
        ),

        // Each folder of Tests has the tests of the target that it is named after.
        .target(
            name: "TestSupport", dependencies: ["COpenSSL", "Digests", "Telemetry", "Time"], path: "Tests/TestSupport"),
        .target(
            name: "StageSupport",
            dependencies: ["CarillonTesting", "Notifications"], path: "Tests/StageSupport"),
        // Both providers as a program, for the end-to-end tests.
        .executableTarget(
            name: "provider-stand-in", dependencies: ["Digests", "ProviderStandIn"],
            path: "Tests/ProviderStandInServer"),
        .testTarget(name: "NotificationPayloadTests", dependencies: ["NotificationPayload", "TestSupport"]),
        .testTarget(
            name: "DeviceRegistrationTests", dependencies: ["DeviceRegistration", "NotificationPayload"]),
        .testTarget(name: "JSONReaderTests", dependencies: ["JSONReader"]),
        .testTarget(name: "StateStoreTests", dependencies: ["StateStore", "TestSupport"]),
        .testTarget(name: "KafkaClientTests", dependencies: ["CRDKafka", "KafkaClient"]),
        .testTarget(name: "TelemetryTests", dependencies: ["Telemetry", "TestSupport"]),
        .target(
            name: "KafkaSimulation", dependencies: ["Hosting", "KafkaClient", "Streaming", "TestSupport"],
            path: "Tests/KafkaSimulation"),
        .testTarget(name: "HostingTests", dependencies: ["Hosting", "KafkaClient", "Telemetry", "TestSupport"]),
        .testTarget(
            name: "StreamingTests",
            dependencies: ["Hosting", "KafkaClient", "KafkaSimulation", "Streaming", "Telemetry", "TestSupport"]),
        .testTarget(name: "HTTPServerTests", dependencies: ["HTTPServer"]),
        .testTarget(
            name: "APITests",
            dependencies: [
                "API", "Digests", "Hosting", "HTTPServer", "JSONReader", "KafkaClient", "NotificationPayload",
                "Notifications", "Pipeline", "Registrar", "Replay", "StateStore", "Telemetry", "TestSupport", "Time",
            ]),
        .testTarget(name: "HTTPClientTests", dependencies: ["HTTPClient", "ProviderStandIn", "TestSupport"]),
        .testTarget(
            name: "ProviderStandInTests", dependencies: ["CTLS", "Digests", "ProviderStandIn", "provider-stand-in"]),
        .testTarget(name: "ArgumentsTests", dependencies: ["Arguments"]),
        .testTarget(name: "TimeTests", dependencies: ["Time"]),
        .testTarget(name: "WholeFileTests", dependencies: ["TestSupport", "WholeFile"]),
        .testTarget(
            name: "NotificationsTests",
            dependencies: [
                "CarillonTesting", "Digests", "JSONReader", "NotificationPayload", "Notifications", "Pipeline",
                "StageSupport", "StateStore", "TestSupport",
            ]),
        .testTarget(
            name: "PipelineTests",
            dependencies: [
                "CarillonTesting", "Digests", "Hosting", "KafkaClient", "KafkaSimulation", "NotificationPayload",
                "Notifications", "Pipeline", "StageSupport", "StateStore", "Streaming", "Telemetry", "TestSupport",
            ]),
        .testTarget(name: "DigestsTests", dependencies: ["COpenSSL", "Digests", "TestSupport"]),
        .testTarget(
            name: "BroadcastsTests",
            dependencies: [
                "Broadcasts", "Digests", "Hosting", "KafkaClient", "KafkaSimulation", "Notifications", "Pipeline",
                "StateStore", "Streaming", "Telemetry", "TestSupport",
            ]),
        .testTarget(
            name: "RegistrarTests",
            dependencies: [
                "Registrar", "Hosting", "JSONReader", "KafkaClient", "Notifications", "Pipeline", "StateStore",
                "Streaming", "TestSupport",
            ]),
        .testTarget(
            name: "SenderTests",
            dependencies: [
                "Sender", "Digests", "Hosting", "HTTPClient", "JSONReader", "KafkaClient", "KafkaSimulation",
                "Notifications", "Pipeline", "ProviderStandIn", "Registrar", "Streaming", "Telemetry", "TestSupport",
            ]),
        .testTarget(
            name: "ReplayTests",
            dependencies: [
                "carillon", "CarillonTesting", "Digests", "JSONReader", "KafkaClient", "NotificationPayload",
                "Notifications",
                "Pipeline", "Registrar", "Replay", "StageSupport", "TestSupport",
            ]),
        .testTarget(
            name: "CarillonTestingTests",
            dependencies: ["CarillonTesting", "Notifications", "Pipeline", "StageSupport", "TestSupport"]),
        .testTarget(
            name: "ConsoleTests", dependencies: ["Console", "KafkaClient", "Pipeline", "Telemetry", "TestSupport"]),
        .testTarget(
            name: "CarillonTests",
            dependencies: [
                "API", "Arguments", "Broadcasts", "carillon", "Console", "HTTPServer", "JSONReader", "KafkaClient",
                "NotificationPayload",
                "Notifications", "Pipeline", "ProviderStandIn", "Registrar", "Replay", "StateStore", "Telemetry",
                "TestSupport",
            ]),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)

// Set by whoever measures: CARILLON_BENCHMARKS=1 swift build -c release --product HTTPClientBenchmark.
if Context.environment["CARILLON_BENCHMARKS"] != nil {
    package.targets += [
        .executableTarget(
            name: "HTTPClientBenchmark", dependencies: ["HTTPClient", "ProviderStandIn"],
            path: "Benchmarks/HTTPClientBenchmark"),
        // Scripts/bench --table runs it.
        .executableTarget(
            name: "TableBenchmark", dependencies: ["Notifications", "StateStore"],
            path: "Benchmarks/TableBenchmark"),
    ]
}

// Scripts/fuzz sets it. Programs without a main of their own: only the fuzzer's flags link them.
if Context.environment["CARILLON_FUZZING"] != nil {
    package.targets += [
        .target(
            name: "FuzzSupport", dependencies: ["NotificationPayload", "Notifications"],
            path: "Tests/Fuzzing/FuzzSupport"),
        .executableTarget(
            name: "FuzzEvents", dependencies: ["FuzzSupport", "NotificationPayload", "Notifications"],
            path: "Tests/Fuzzing/FuzzEvents"),
        .executableTarget(
            name: "FuzzEnvelopes",
            dependencies: ["FuzzSupport", "JSONReader", "Notifications", "Pipeline"],
            path: "Tests/Fuzzing/FuzzEnvelopes"),
        .executableTarget(
            name: "FuzzRequests",
            dependencies: ["FuzzSupport", "JSONReader", "NotificationPayload", "Notifications", "Pipeline"],
            path: "Tests/Fuzzing/FuzzRequests"),
        .executableTarget(
            name: "FuzzBatches",
            dependencies: ["CarillonTesting", "FuzzSupport", "KafkaClient", "Notifications", "Pipeline"],
            path: "Tests/Fuzzing/FuzzBatches"),
        .executableTarget(
            name: "FuzzAnswers",
            dependencies: [
                "Sender", "Digests", "FuzzSupport", "JSONReader", "NotificationPayload", "Notifications", "Time",
            ], path: "Tests/Fuzzing/FuzzAnswers"),
        .executableTarget(
            name: "FuzzHeads", dependencies: ["API", "FuzzSupport", "HTTPServer", "Pipeline"],
            path: "Tests/Fuzzing/FuzzHeads"),
        .executableTarget(
            name: "FuzzPushes", dependencies: ["FuzzSupport", "NotificationPayload"], path: "Tests/Fuzzing/FuzzPushes"),
        .executableTarget(
            name: "FuzzSubscriptions", dependencies: ["FuzzSupport", "Notifications"],
            path: "Tests/Fuzzing/FuzzSubscriptions"),
    ]
}
