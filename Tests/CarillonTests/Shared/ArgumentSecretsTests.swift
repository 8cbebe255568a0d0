import Testing

@testable import carillon

@Suite("Secrets among the arguments")
struct ArgumentSecretsTests {
    @Test(
        "the value of a password or a key is found in every form of its setting",
        arguments: [
            "kafka.sasl.password=", "sasl.password=", "-Xsasl.password=", "--set=kafka.sasl.password=",
            "kafka.ssl.key.password=", "ssl.keystore.password=", "ssl.key.pem=", "-Xsasl.oauthbearer.client.secret=",
        ])
    func secret(form: String) {
        let word = form + "pässword=1"
        #expect(ArgumentSecrets.secret(in: word) == form.utf8.count..<word.utf8.count)
    }

    @Test(
        "anything else is left as it is",
        arguments: [
            "run", "--set", "group.id=password", "-Xsecurity.protocol=SASL_SSL", "kafka.ssl.key.location=/password",
        ])
    func other(word: String) {
        #expect(ArgumentSecrets.secret(in: word) == nil)
    }
}
