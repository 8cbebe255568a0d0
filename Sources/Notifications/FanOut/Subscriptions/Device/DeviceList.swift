import Digests
import StateStore

/// The devices of a batch's audiences. The memory is reused from batch to batch.
public struct DeviceList: ~Copyable {
    package private(set) var devices: [Device] = []
    /// How many devices from a resolver were left out because their token or app cannot be sent to.
    package private(set) var rejected = 0
    private var arena = ByteArena()
    private var isInOrder = true
    /// The number of audiences that a resolver may append to.
    private var audiences = 0

    package init() {}

    /// The number of devices.
    public var count: Int { devices.count }

    /// Adds a device to the audience at this index of the list that is being resolved.
    ///
    /// A device whose token or app breaks a limit of ``Subscription``, or whose audience is not in the list, is left
    /// out and counted.
    /// - Parameters:
    ///   - token: The provider's token, 1 to 4,096 bytes.
    ///   - kind: What the token is; nil: what it usually is at the provider.
    ///   - app: The bundle id or package name; required for APNs, where it is the topic.
    ///   - lastSeen: When the device was last known to be active; a device with nil is never too old.
    /// - Returns: Whether it was added.
    @discardableResult
    public mutating func append(
        token: String, platform: Platform, kind: AddressKind? = nil, app: String,
        environment: PushEnvironment = .production, lastSeen: WallTime? = nil, to audience: Int
    ) -> Bool {
        guard Subscription.problems(audience: "user/-", token, platform, kind, app: app).isEmpty,
            (0..<audiences).contains(audience)
        else {
            rejected += 1
            return false
        }
        // As in the table's entries, the command and the time of registration are right before the app; a resolver does not
        // report them.
        let bytes = arena.allocate(48 + token.utf8.count + app.utf8.count)
        bytes.storeBytes(of: Device.noCommand.littleEndian, toByteOffset: 32, as: Int64.self)
        bytes.storeBytes(of: Device.unknownTime.littleEndian, toByteOffset: 40, as: Int64.self)
        let appStart = bytes + 48
        let tokenStart = appStart + app.utf8.count
        copy(token, to: tokenStart)
        copy(app, to: appStart)
        let tokenBytes = UnsafeRawBufferPointer(start: tokenStart, count: token.utf8.count)
        SHA256.hash(tokenBytes, into: bytes)
        let appBytes = UnsafeRawBufferPointer(start: appStart, count: app.utf8.count)
        append(
            Device(
                hashStart: bytes, tokenStart: tokenStart, appStart: appStart,
                tokenCount: UInt16(tokenBytes.count), appCount: UInt16(appBytes.count),
                kind: kind ?? platform.usualKind, environment: environment,
                needsEscaping: Device.needsEscaping(tokenBytes) || Device.needsEscaping(appBytes),
                localeCount: 0,
                audience: Int32(audience),
                lastSeenMilliseconds: lastSeen?.milliseconds ?? Device.unknownTime))
        return true
    }

    /// Adds the device of a copy of an entry; false if the table did not write it.
    package mutating func append(copyOf entry: StoreEntry, to audience: Int32) -> Bool {
        let key = arena.allocate(entry.key.count + entry.value.count)
        let value = key + entry.key.count
        UnsafeMutableRawBufferPointer(start: key, count: entry.key.count).copyMemory(from: entry.key)
        UnsafeMutableRawBufferPointer(start: value, count: entry.value.count).copyMemory(from: entry.value)
        let copy = StoreEntry(
            key: UnsafeRawBufferPointer(start: key, count: entry.key.count),
            value: UnsafeRawBufferPointer(start: value, count: entry.value.count))
        guard let device = TableEntry.device(copy, audience: audience) else { return false }
        append(device)
        return true
    }

    mutating func append(_ device: Device) {
        if let last = devices.last, last.audience > device.audience {
            isInOrder = false
        }
        devices.append(device)
    }

    /// Empties the list for this many audiences and keeps its memory.
    package mutating func removeAll(audiences: Int) {
        self.audiences = audiences
        devices.removeAll(keepingCapacity: true)
        arena.removeAll()
        rejected = 0
        isInOrder = true
    }

    /// Groups the devices by audience, if the resolver did not.
    package mutating func putInOrder() {
        guard !isInOrder else { return }
        let order = devices.indices.sorted { (devices[$0].audience, $0) < (devices[$1].audience, $1) }
        devices = order.map { devices[$0] }
        isInOrder = true
    }

    private func copy(_ text: String, to target: UnsafeMutableRawPointer) {
        var text = text
        text.withUTF8 { bytes in
            guard let start = bytes.baseAddress else { return }
            target.copyMemory(from: start, byteCount: bytes.count)
        }
    }
}
