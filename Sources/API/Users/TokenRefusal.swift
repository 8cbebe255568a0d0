/// Why a person's token is not accepted: a sentence for who signs them, without a part of the token.
///
/// What the claims say is told only of a token whose signature is right.
package enum TokenRefusal: String, Error, CaseIterable {
    case tooLarge = "the token is too large; allowed are 8,192 bytes"
    case notCompact =
        "the token is not in the compact form; allowed are three parts in base64url without padding, with dots between"
    case header = "the token's header cannot be read; allowed is one JSON object that has each member once"
    case headerMember = "the token's header has crit, b64, jku, jwk, x5u, x5c or cty; allowed are alg, kid and typ"
    case type = "the token's typ is another; allowed is JWT, or none"
    case noKeyID = "the token's header has no kid; needed is that of one of the issuer's keys, as a text"
    case claims = "the token's claims cannot be read; allowed is one JSON object that has each member once"
    case noIssuer = "the token has no iss; needed is the issuer's name, as a text"
    case unknownKey = "the token's iss and kid are of no issuer that is known here"
    case algorithm = "the token's alg is not that of its key"
    case signature = "the token's signature is not that of its key"
    case audience = "the token's aud does not name carillon; allowed is carillon, or a list of texts with it"
    case time =
        "the token's iat, exp or nbf is no time; needed are iat and exp, in seconds since 1970, to the year 9999"
    case lifetime = "the token's exp is not after its iat, or is further from it than the issuer's max_ttl allows"
    case tooEarly = "the token's iat or nbf is more than 120 s ahead of the present time: compare the clocks"
    case expired = "the token has expired; needed is a new one of the same issuer"
    case subject = "the token's sub is no person; needed is the id of user/<id>, as a text without control characters"
    case audiences =
        "the token's audiences cannot be used; allowed are at most 200, such as place/42 and place/*, in a list of texts"
    case device = "the token's device is no id of one; allowed are 16 to 64 letters and digits of ASCII, _ and -"
}
