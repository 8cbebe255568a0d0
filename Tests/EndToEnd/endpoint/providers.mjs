// FCM with its token endpoint, and APNs, by Node's http2: written from Google's and Apple's documentation, and not from Carillon.
//
//   node providers.mjs FOLDER SEED
//
// FOLDER gets throw-away certificates and credentials, and `requests.jsonl`: a line for each request, once it is over. The first line
// of the output says where everything is; afterwards `control` takes changes of `state` by POST, and tells the counts by GET. It ends
// with its standard input.
import { execFileSync } from "node:child_process";
import { createHash, generateKeyPairSync, randomUUID, verify } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import net from "node:net";
import path from "node:path";

const [folder, seed] = [process.argv[2], Number(process.argv[3])];
const state = {
    latency: 0, // milliseconds from the whole request to its answer
    faults: {}, // the share of requests, by the names of `FAULTS`
    dead: 0, // the share of devices
    deadFor: 3_600_000, // milliseconds, where the provider says so
    retryAfter: 2, // seconds, where a fault says so
    bodies: true, // whether a request may have a body: otherwise flow control is closed
    protocol: "h2", // of new connections; or http/1.1
};
const FAULTS = {
    internal: { status: 500 },
    unavailable: { status: 503 },
    later: { status: 503, waits: true },
    quota: { status: 429, waits: true },
    goaway: { goesAway: true },
    reset: { loses: (stream) => stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR) },
    cut: { loses: (stream) => stream.session.destroy(http2.constants.NGHTTP2_INTERNAL_ERROR) },
    silent: { loses: () => {} },
};
const STREAMS = { fcm: 100, apns: 1000 };
const [TEAM, KEY, PROJECT] = ["TEAMOFTEST", "KEYOFTESTS", "busy-project"];
const PUSH_TYPES = new Set(
    "alert background controls complication fileprovider liveactivity location mdm pushtotalk voip widgets".split(" "),
);

const file = (name) => path.join(folder, name);
const hash = (token) => createHash("sha256").update(token).digest("hex");
const parsed = (text) => {
    try {
        return JSON.parse(text);
    } catch {
        return undefined;
    }
};

// Mulberry32.
let drawn = seed >>> 0;
function chance() {
    drawn = (drawn + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(drawn ^ (drawn >>> 15), drawn | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

// -- Identities

fs.mkdirSync(folder, { recursive: true });
const certificate = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=providers"];
const names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
execFileSync("openssl", [...certificate, ...names, "-keyout", file("server.key"), "-out", file("ca.pem")], { stdio: "ignore" });
const tls = { key: fs.readFileSync(file("server.key")), cert: fs.readFileSync(file("ca.pem")) };
const pem = { type: "pkcs8", format: "pem" };
const google = generateKeyPairSync("rsa", { modulusLength: 2048 });
const apple = generateKeyPairSync("ec", { namedCurve: "P-256" });
const accessTokens = new Map();
const providerTokens = new Map();

// The claims of a signed token; undefined where it is none of this key's.
function claims(token, key, algorithm) {
    const [head, body, signature] = (token ?? "").split(".");
    const decode = (part) => parsed(Buffer.from(part ?? "", "base64url").toString());
    if (decode(head)?.alg !== algorithm || !signature) return undefined;
    const options = algorithm === "ES256" ? { key, dsaEncoding: "ieee-p1363" } : key;
    const isValid = verify("sha256", Buffer.from(`${head}.${body}`), options, Buffer.from(signature, "base64url"));
    return isValid ? { ...decode(body), kid: decode(head).kid } : undefined;
}

function accessToken(body) {
    const form = new URLSearchParams(body);
    const said = claims(form.get("assertion"), google.publicKey, "RS256");
    const seconds = Date.now() / 1000;
    const isValid = said?.iat <= seconds + 5 && said.exp > seconds && said.exp - said.iat <= 3600 && /firebase\.messaging/.test(said.scope);
    if (!isValid || said.aud !== `${places.fcm}/token`) return { status: 400, body: { error: "invalid_grant" } };
    const token = `made-up-${randomUUID()}`;
    accessTokens.set(token, Date.now() + 3600_000);
    return { status: 200, body: { access_token: token, expires_in: 3600, token_type: "Bearer" } };
}

// -- What a provider says of a request: {status, body, device, message, collapse, lifetime}

const fcmError = (status, name, code, message = name) => ({
    status,
    body: { error: { code: status, status: name, message, details: code ? [{ "@type": FCM_ERROR, errorCode: code }] : [] } },
});
const FCM_ERROR = "type.googleapis.com/google.firebase.fcm.v1.FcmError";
const FCM_FAULTS = {
    500: fcmError(500, "INTERNAL", "INTERNAL"),
    503: fcmError(503, "UNAVAILABLE", "UNAVAILABLE"),
    429: fcmError(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"),
};

function fcm(headers, text) {
    if (!(accessTokens.get((headers.authorization ?? "").replace(/^Bearer /, "")) > Date.now())) return fcmError(401, "UNAUTHENTICATED");
    if (headers[":path"] !== `/v1/projects/${PROJECT}/messages:send`) return fcmError(404, "NOT_FOUND");
    const whole = parsed(text);
    const message = whole?.message ?? {};
    const data = message.data ?? {};
    const sizes = Object.entries(data).map(([name, value]) => Buffer.byteLength(name) + Buffer.byteLength(String(value)));
    const reserved = Object.keys(data).some((name) => /^(from|message_type|notification)$|^(google|gcm)/.test(name));
    const about = {
        device: message.token && hash(message.token),
        message: parsed(data.default ?? "{}")?.data?.message_id,
        collapse: message.android?.collapse_key,
        lifetime: message.android?.ttl,
    };
    const isMessage = typeof message.token === "string" && Object.values(data).every((value) => typeof value === "string");
    if (!isMessage || reserved || sizes.reduce((sum, size) => sum + size, 0) > 4096 || !/^\d+(\.\d{1,9})?s$/.test(about.lifetime ?? "0s")) {
        return { ...fcmError(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"), ...about };
    }
    if (isDead(about.device)) return { ...fcmError(404, "NOT_FOUND", "UNREGISTERED"), ...about };
    if (whole.validate_only) return { status: 200, body: { name: `projects/${PROJECT}/messages/fake_message_id` } };
    return { status: 200, body: { name: `projects/${PROJECT}/messages/${randomUUID()}` }, ...about };
}

const APNS_FAULTS = {
    500: { status: 500, body: { reason: "InternalServerError" } },
    503: { status: 503, body: { reason: "ServiceUnavailable" } },
    429: { status: 429, body: { reason: "TooManyRequests" } },
};

function apns(headers, text) {
    const refused = (status, reason, more) => ({ status, body: { reason, ...more }, ...about });
    const about = { id: headers["apns-id"], collapse: headers["apns-collapse-id"], lifetime: headers["apns-expiration"] };
    const token = (headers.authorization ?? "").replace(/^bearer /i, "");
    if (!providerTokens.has(token)) {
        const said = claims(token, apple.publicKey, "ES256");
        if (said?.iss !== TEAM || said.kid !== KEY) return refused(403, "InvalidProviderToken");
        providerTokens.set(token, said.iat);
    }
    if (Date.now() / 1000 - providerTokens.get(token) > 3600) return refused(403, "ExpiredProviderToken");
    const device = /^\/3\/device\/((?:[0-9a-f]{2})+)$/i.exec(headers[":path"])?.[1];
    if (!device) return refused(400, "BadDeviceToken");
    const payload = parsed(text);
    about.device = hash(device);
    about.message = parsed(payload?.default ?? "{}")?.data?.message_id;
    const type = headers["apns-push-type"];
    if (!headers["apns-topic"]) return refused(400, "MissingTopic");
    if (type !== undefined && !PUSH_TYPES.has(type)) return refused(400, "InvalidPushType");
    if (about.id !== undefined && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(about.id)) return refused(400, "BadMessageId");
    if (!["1", "5", "10"].includes(headers["apns-priority"] ?? "10")) return refused(400, "BadPriority");
    if (type === "background" && headers["apns-priority"] !== "5") return refused(400, "BadPriority");
    if (!/^\d+$/.test(about.lifetime ?? "0")) return refused(400, "BadExpirationDate");
    if (Buffer.byteLength(about.collapse ?? "") > 64) return refused(400, "BadCollapseId");
    if (typeof payload?.aps !== "object") return refused(400, "PayloadEmpty");
    if (Buffer.byteLength(text) > 4096) return refused(413, "PayloadTooLarge");
    if (isDead(about.device)) return refused(410, "Unregistered", { timestamp: Date.now() - state.deadFor });
    return { status: 200, ...about };
}

const isDead = (device) => parseInt(device.slice(0, 8), 16) / 2 ** 32 < state.dead;

// -- Connections and requests

const log = fs.createWriteStream(file("requests.jsonl"));
const servers = [];
const sessions = new Set();
// Those of APNs that have not seen a valid token.
const narrow = new Set();
const open = new Set();
const counts = { requests: 0, taken: 0, connections: 0 };

// The fault that this request meets, if any.
function draw() {
    let left = chance();
    for (const [name, share] of Object.entries(state.faults)) {
        left -= share;
        if (left < 0) return name;
    }
    return undefined;
}

function record(entry) {
    if (!open.delete(entry)) return;
    log.write(`${JSON.stringify(entry)}\n`);
}

function receive(provider, stream, headers) {
    const entry = { n: counts.requests++, provider, at: Date.now(), whole: null, done: null, broken: false, status: null, taken: false };
    open.add(entry);
    const parts = [];
    stream.on("error", () => {});
    stream.on("data", (part) => parts.push(part));
    stream.on("close", () => {
        // What was still on its way may have arrived, or not.
        if (stream.rstCode !== http2.constants.NGHTTP2_NO_ERROR) entry.broken = true;
        if (entry.whole === null || entry.status !== null) record(entry);
    });
    stream.on("end", () => {
        // Node ends a stream that was aborted, too.
        if (stream.aborted) return;
        entry.whole = Date.now();
        setTimeout(() => answer(entry, stream, headers, Buffer.concat(parts).toString()), state.latency);
    });
}

function answer(entry, stream, headers, text) {
    const name = draw();
    const fault = FAULTS[name] ?? {};
    const known = entry.provider === "fcm" ? fcm(headers, text) : apns(headers, text);
    const failure = (entry.provider === "fcm" ? FCM_FAULTS : APNS_FAULTS)[fault.status];
    const { status, body, ...about } = { ...known, ...failure };
    const said = { ":status": status, "content-type": "application/json", ...(about.id && { "apns-id": about.id }) };
    if (fault.waits) said["retry-after"] = String(state.retryAfter);
    entry.taken = status === 200;
    counts.taken += entry.taken;
    Object.assign(entry, { status, fault: name, reason: body?.reason ?? body?.error?.details?.[0]?.errorCode ?? body?.error?.status }, about);
    const isOver = stream.destroyed || stream.closed;
    if (isOver || fault.loses) {
        if (!isOver) fault.loses(stream);
        record(entry);
        return;
    }
    if (known.status === 200 && narrow.delete(stream.session)) stream.session.settings({ maxConcurrentStreams: STREAMS.apns });
    stream.respond(said);
    stream.end(body ? JSON.stringify(body) : undefined);
    entry.done = Date.now();
    if (fault.goesAway) {
        const reason = entry.provider === "apns" ? Buffer.from('{"reason":"Shutdown"}') : undefined;
        stream.session.goaway(http2.constants.NGHTTP2_NO_ERROR, 0, reason);
        stream.session.close();
    }
}

// Each connection is HTTP/2's or, where `state` says so, that of a server that knows nothing newer than HTTP/1.1.
function listen(provider) {
    // APNs allows one request until it has seen a valid token.
    const first = provider === "apns" ? 1 : STREAMS.fcm;
    const modern = http2.createSecureServer({ ...tls, settings: { maxConcurrentStreams: first } });
    const old = https.createServer({ ...tls, ALPNProtocols: ["http/1.1"] }, (_, response) => response.writeHead(505).end());
    servers.push(modern);
    modern.on("session", (session) => {
        sessions.add(session);
        if (provider === "apns") narrow.add(session);
        session.on("error", () => {});
        session.on("close", () => sessions.delete(session) && narrow.delete(session));
    });
    modern.on("stream", (stream, headers) => {
        if (headers[":path"] !== "/token") return receive(provider, stream, headers);
        const parts = [];
        stream.on("data", (part) => parts.push(part));
        stream.on("end", () => {
            const { status, body } = accessToken(Buffer.concat(parts).toString());
            stream.respond({ ":status": status, "content-type": "application/json" });
            stream.end(JSON.stringify(body));
        });
    });
    const server = net.createServer((socket) => {
        counts.connections++;
        socket.on("error", () => {});
        (state.protocol === "h2" ? modern : old).emit("connection", socket);
    });
    for (const each of [modern, old]) each.on("tlsClientError", () => {});
    return new Promise((done) => server.listen(0, "127.0.0.1", () => done(`https://127.0.0.1:${server.address().port}`)));
}

const control = http.createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", async () => {
        const changes = parts.length ? parsed(Buffer.concat(parts).toString()) : {};
        const known = changes && Object.keys(changes).every((name) => name in state);
        if (!known || Object.keys(changes.faults ?? {}).some((name) => !(name in FAULTS))) return response.writeHead(400).end();
        Object.assign(state, changes);
        if ("bodies" in changes) {
            const window = { initialWindowSize: state.bodies ? 65_535 : 0 };
            for (const server of servers) server.updateSettings(window);
            // It counts once the peer has said that it knows.
            await Promise.all([...sessions].map((each) => new Promise((done) => each.once("close", done).settings(window, done))));
        }
        response.end(JSON.stringify({ ...counts, open: open.size }));
    });
});

const places = { fcm: await listen("fcm"), apns: await listen("apns") };
const serviceAccount = {
    type: "service_account",
    project_id: PROJECT,
    private_key_id: "made-up",
    private_key: google.privateKey.export(pem),
    client_email: `sender@${PROJECT}.iam.example.com`,
    token_uri: `${places.fcm}/token`,
};
const credentials = [
    { name: "project", provider: "fcm", service_account: "service-account.json" },
    { name: "team", provider: "apns", key_file: `AuthKey_${KEY}.p8`, key_id: KEY, team_id: TEAM },
];
const own = { mode: 0o600 };
fs.writeFileSync(file("service-account.json"), JSON.stringify(serviceAccount), own);
fs.writeFileSync(file(`AuthKey_${KEY}.p8`), apple.privateKey.export(pem), own);
fs.writeFileSync(file("credentials.json"), JSON.stringify(credentials), own);
control.listen(0, "127.0.0.1", () => {
    const found = { ca: file("ca.pem"), credentials: file("credentials.json"), log: file("requests.jsonl") };
    console.log(JSON.stringify({ ...places, ...found, control: `http://127.0.0.1:${control.address().port}/` }));
});
process.stdin.resume().on("end", () => {
    for (const entry of [...open]) record(entry);
    log.end(() => process.exit(0));
});
