import Glibc

/// The process's limit of open files, raised for a test with many sockets.
struct OpenFiles {
    private var before = rlimit()
    let limit: Int

    init(_ count: Int) {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        getrlimit(resource, &before)
        var raised = before
        raised.rlim_cur = max(before.rlim_cur, min(before.rlim_max, rlim_t(count)))
        setrlimit(resource, &raised)
        limit = Int(raised.rlim_cur)
    }

    func restore() {
        var before = before
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
    }
}
