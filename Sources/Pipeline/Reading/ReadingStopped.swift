/// A read was ended before it had read all.
package struct ReadingStopped: Error {
    package init() {}
}
