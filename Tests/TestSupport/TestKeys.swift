/// Keys that were made for these tests and are used nowhere else, as base64 of PKCS #8: without PEM's lines, which
/// scanners for secrets look for.
package enum TestKeys {
    /// RSA, 2,048 bits.
    package static var rsa: [UInt8] { pem(rsaBody) }
    /// Elliptic curve, P-256.
    package static var p256: [UInt8] { pem(p256Body) }
    /// Elliptic curve, P-384: of no algorithm that is used.
    package static var p384: [UInt8] { pem(p384Body) }
    /// RSA, 1,024 bits: too short.
    package static var shortRSA: [UInt8] { pem(shortRSABody) }

    /// A token that Python's `cryptography` signed with ``rsa``: PKCS #1 signatures are always the same.
    package static let foreignToken = [
        "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImsxIn0.eyJpc3MiOiJzZW5kZXJAc2hvcC5pYW0uZ3NlcnZpY2Vh",
        "Y2NvdW50LmNvbSIsInNjb3BlIjoiaHR0cHM6Ly93d3cuZ29vZ2xlYXBpcy5jb20vYXV0aC9maXJlYmFzZS5tZXNzYWdpbmci",
        "LCJhdWQiOiJodHRwczovL29hdXRoMi5nb29nbGVhcGlzLmNvbS90b2tlbiIsImlhdCI6MTc1MTg3NTMzNywiZXhwIjoxNzUx",
        "ODc4OTM3fQ.bMURcd-YBRDeF91YEj0etmcA3xh-aIH_pOPlz-4uXQJxk5gwQPNkIS4TqqBKqENzCDCmaL4Ica8LfpYlhc1jq",
        "96pqX4hGw98CApFFMb5eOpKDPJkSzLGz12uPtEiePxdCntWx_AcSuWxPRNLZgLvS4HtrpP4NqwClivXQbNLDIouUiSqbYMZf",
        "jOcqd-g2zxQt0mSBzyTf5KuBfMKI6YQopef-SkJON23j22p-e-EDyCo0jKRihzp5TNcsb5GK5DqkLGhFy_4kkSYXI17e9X5m",
        "Dqe5s9h27_S6lHL8a8PQzv_hJr5ZIN9WjU7dPMD0gFYhLZYTOWpCub6d4-4XsIP9A",
    ].joined()

    /// As a file has it.
    private static func pem(_ body: String) -> [UInt8] {
        let (name, dashes) = ("PRIVATE" + " KEY", String(repeating: "-", count: 5))
        return Array("\(dashes)BEGIN \(name)\(dashes)\n\(body)\n\(dashes)END \(name)\(dashes)\n".utf8)
    }

    private static let rsaBody = [
        "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQD8x848s55TjKMcnUnPwIlDMI7GFzkVins9TFbmRSOE1bZ/",
        "R1AIzgcRCW1UaLo0G0NaUhel/hs10kWqVGBJjM8pQEWtiOb5lBlDGU9VHr69GhLy4fhFkmnfPA2JxPHKYogQ6ke8hEReNgma",
        "VV9L4nokYIELKsbGD4pUaYImAgAjCODppqDHdYxZAhBgw94obMUdQ4Wk7z0ARK6TjTR/wJt/xXNqbIsd1NfJa4oxN4bE8tyQ",
        "7iI6mBoXH7hgRxydwRL+XsLr7HRATdA4zgcsdUzmbR4FShve3kqCS28difLl8QMApew9nWQRhjyMHUdkejFrSreJ+kcanafX",
        "TtJC5Wz3AgMBAAECggEAANNOMxiLDc7JwZAp64m/aP7BmJf+0bkwCdUz+3CCWy6vd97tvfmeQEn9l2b4JK9qGuNlvF8GC7jy",
        "DUpVPig9jO7uy1BFIM+A/Z0Zizece9WX9j8SpneB7P6vNKH2ACkuNI/vSAhOiNg4U86vjvngWDoQcc7j80WduATYLfOXuIWP",
        "PSWwR4hjVS03rKL7QkzjCBaA6EnkLFnWTYvHvcRILAM068aOib4iTN1aFwNltxhh6twFdms0sldi3a9hl8ZMA1laIsSOyM3Z",
        "1M9ArP4bYPtNruJ6KlamVQboY9qLjyh55lFU8PTYbyTSCJO5lsrjGOyogP/1pWVE2I5eQ8zM0QKBgQD/vnROmTDje4eELDXI",
        "JSOGKEDQV0gxLHS9hChzY1agZd37Zsd06XvOWrI3l1IxXlnBN6pYYBaN4evYWSdgOIYmAVyu8bpHs7RubWeNKzWvltg9F/Sr",
        "nXb7qlC6qZ6l+ve42NE9mfS9nOX+ruESX+57LfNQbFc0PQEIk0PGA+iRXQKBgQD9CJd+LXhCgeeV8yweDK6H9ZERqgFo2JW9",
        "KZyijNW3wh/FytlY1jxGcYhUjovwU1dMGyHobgr6zjmbwXHyCnI1MAKxvY2gJ1pqkxNam9OBsNvb6r/YjP08Fxgc0BvaboUu",
        "413xSP+ClJ7VUF2A9Z772SXX+THaN27gEr2BR0iuYwKBgArqKPKVzSVYR09Xx6/UDfES1LlPkFAw8oaIFmXeTnsn/dJV75tI",
        "v7Tt3/9JYQOkYDZD1uxQpYXGp5cjLvAHWYpTso3w2R9oRwITf0DiIDdvO6lX1WRhowtYmHtu88tnq5zi/AMiB/TztkkpU4fC",
        "Ol5ddq3vAcXD+MBR8KmJzyotAoGBAOvYP0P3Y7kx1caZQoy7q03EYLQDLo8oGOGY0IteE7HUecLlIJLCFKpgFf8iYmLde2fP",
        "flpjf05oO5/mvaspe2wB1PEQSdp187uUXJy+03R1gWfItYpFV5/TssDgZKXDD9Y1TJGiRa3TkvwmjRCvX8FElBZrCcFom6q1",
        "LPc7lw4bAoGBALusDNyRIzjZtBpq8I3JVthdT7AUAz3jTYhtZC9KG7ZFZ5H9TZbt/h8OCtSNtxoIdJT/zvZCTN46Xnrw55So",
        "BGCoIkP6lwokWANZO65l1NTXdl9yPZLFWISYn3mQ4qJ2wz4Qsb6cQON2mUi2TUwTS6O9i16VoIdn6ACRtJeUX0DO",
    ].joined(separator: "\n")

    private static let p256Body = [
        "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgPKTvxJ2nfSe3OMLhW7DyMk+fKPnpeTDD6UqYld5LEHGhRANC",
        "AAR8EJFRglOiZz69+P3Sz15SSWEIiVWSSSfwOwiSPyC3aywTRxmF/fVW1lqS+1ObVinGksEvo1EO7vyuUiolW0e7",
    ].joined(separator: "\n")

    private static let p384Body = [
        "MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDCBpuEWbgNW8hsvWZEaZYO3rQxekukmkGAR6ww97TlOV5gMdls+",
        "4GDAjv2R0+mkzDGhZANiAARRjkf7T92/sNxrmxn3vCzq52xkbc/yJKaVE6Lu06wzT1D2gTVk403uqN4aItmatoNpiUz7xHZN",
        "zSmM3ccrnArONWk5xbRF5GSuCgpK7ZYvxkJbiS1V83aDmDdcEnxsMBg=",
    ].joined(separator: "\n")

    private static let shortRSABody = [
        "MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBALegtUq2zD1mekqLsZaW0ybBSXYAzLAYQEvdOCc4HeZotlnQ",
        "3uPur0J5NO+Vzh81KwaSpkvCAHJObqUuRZ3yDxsY9CPxETmu6c9J1YgmrW3ro/CxhUoHHPT44EpYtYGDJdjm3e2b0RCZSh/H",
        "f60T7AV5220jumCMDhBSFiBg302XAgMBAAECgYArb1oyuBaLl4fpxi1Vn4uGqUXFId9I8BOVXlh//mgkLjSj/iIa7ESMhrsc",
        "yOSewSbSQTIQzWzpnN/TNqTE/ZLQwRJM6OwfTNatgOOB5Fe/KsB1PNKtsf391C6QW3+WYB6cNE3H29MNw8jyfIStfMou+G7U",
        "QWwwN7ui9fRfyZyz8QJBAO1cPJksu7PVpGU9YLFLr/TuIm+VFjmGLgcTDNpoPKpudcYV9FY7XimxOeSRQLj2tq+B31OOayPN",
        "CKJR2InTgbUCQQDGDEL5z9AbBGhVCbl6Txbd6Y+MnbCa1IJomNDc/ndZ59V9KSOvsEqVAZeecfDObfaHiZkrr1mVG8NTTJ/c",
        "H9GbAkEA3CrwcsyRl3AWO2pBZHNmVXUGMCZEJTuXOiyrgXOqwhQP3pvCtrH+2AFyR9eMB4WhUw7OjnzOWLj4x0fP6Zhs+QJB",
        "AJ6MXmoDVkTqyGObv2MNQe8x9fvKmgG5sxTtkff5t67ADIeAkdMqvOqBNdJgwTlhiwWCwJ7aaEsYyMw9AZWF25UCQForIiAu",
        "qxXLL7NxhX0dM2EwHug0T1orhZFy4Ucssb8YwOlkgQiyHcI/ilUAGOT8PMeSFDrKMjQkchri0Pvc67c=",
    ].joined(separator: "\n")
}
