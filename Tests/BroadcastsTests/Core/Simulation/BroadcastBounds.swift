import StateStore

@testable import Broadcasts

/// What a worker holds in memory and writes at most, computed from counts: for more devices than a simulation can have.
///
/// A worker's devices are on disk; in memory are what the open transaction has changed, what the store does not have yet,
/// and the references of the devices that were read at a time.
struct BroadcastBounds {
    var devices: Int
    var partitions: Int
    /// Threads over all processes.
    var workers: Int
    /// `commit.max-records`, `commit.max-events` and `broadcasts.max-late`.
    var mostRecords = 50_000
    var mostEvents = 20_000
    var mostLate = 10
    /// Of a stored device: a head of 33 bytes, the app, a token of FCM and a locale, rounded up.
    var deviceBytes = 300

    var partitionsOfAWorker: Int { Self.quotient(partitions, workers) }
    var devicesOfAPartition: Int { Self.quotient(devices, partitions) }

    // MARK: Entries of a worker

    /// Devices that are known to leave.
    var leavers: Int { partitionsOfAWorker * BroadcastPartition.mostLeavers + staged }

    /// A batch of records is taken whole.
    var staged: Int { mostEvents + 1_000 }
    /// Each partition may wait with so many for its store, and one has those of the latest transaction as well.
    var pending: Int { partitionsOfAWorker * ChannelTable.mostPending + staged }
    /// What joiners are to get.
    var late: Int { mostRecords + mostLate }
    /// References of devices that were read; each table keeps their room.
    var visited: Int { partitionsOfAWorker * 10_000 }

    /// A dictionary is at most three quarters full, and each device is an array of its own.
    private var changeBytes: Int {
        MemoryLayout<(ChannelKey, [UInt8]?)>.stride * 4 / 3 + 32 + deviceBytes
    }

    /// The memory of a worker besides its clients and its stores' pages, in bytes. The values of joiners are those of what
    /// is staged.
    var bytes: Int {
        (staged + pending) * changeBytes + late * MemoryLayout<BroadcastCore.Joiner>.stride
            + visited * MemoryLayout<StoreEntry>.stride
            + leavers * MemoryLayout<(ChannelKey, Int64)>.stride * 4 / 3
    }

    // MARK: A pass

    /// The transactions of a worker for a broadcast to all devices: all but the last are full, and one may be needed to see
    /// that nobody is left. Each writes one record of the journal.
    var transactions: Int { Self.quotient(partitionsOfAWorker * devicesOfAPartition, mostRecords) + 1 }

    /// How long a broadcast to all devices takes, in seconds, if each worker writes so many dispatch records a second.
    func seconds(perSecond rate: Int) -> Int { Self.quotient(partitionsOfAWorker * devicesOfAPartition, rate) }

    /// Rounded up.
    private static func quotient(_ dividend: Int, _ divisor: Int) -> Int { (dividend + divisor - 1) / divisor }
}
