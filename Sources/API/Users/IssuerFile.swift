import Foundation
import JSONReader

/// The file of issuers, and those of their secrets, whose paths are relative to its folder.
package typealias IssuerFile = WatchedFile<IssuerList>

extension IssuerFile {
    package init(_ path: String) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        self.init(path) { json, read throws(InvalidForm) in
            try IssuerList(json: json) { name throws(InvalidForm) in
                try read(name.hasPrefix("/") ? name : "\(folder)/\(name)")
            }
        }
    }
}
