import { connect as connectHttp2, type OutgoingHttpHeaders } from "node:http2";
import { connect } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";

/** The servers of fixtures/bystander.ts, in the order of its ports. */
export const bystanders = [
  "http",
  "http with WebSockets and CONNECT",
  "https",
  "h2c",
  "h2c by requests",
  "h2",
  "h2 and http/1.1",
  "h2 by streams, http/1.1 allowed",
  "grpc",
  "grpc over tls",
] as const;
export type Bystander = (typeof bystanders)[number];

/** What a client did on a connection, and all that it saw of it. */
export interface Conversation {
  readonly name: string;
  readonly server: Bystander;
  /** @returns what was seen, in a form in which two servers that behave alike are equal. */
  readonly hold: (port: number) => Promise<unknown>;
}

interface Talk {
  /** Each is sent when what came so far ends with the text before it; the first at once. */
  readonly send: readonly (string | Buffer)[];
  /** How what is received ends when it is time for the next; and when all is said. Without: when the server closes. */
  readonly until?: RegExp | ((received: string) => boolean);
  readonly tls?: ConnectionOptions;
  /** Ends its half with the last of it. */
  readonly halfClose?: boolean;
  /** What is received is frames of HTTP/2. */
  readonly frames?: boolean;
}

/** A conversation that has not ended by then never will: no server here takes longer than some milliseconds. */
const timeout = 30_000;

function talk(port: number, { send, until, tls, halfClose = false, frames = false }: Talk): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const at = { port, host: "127.0.0.1", allowHalfOpen: true };
    const socket = tls ? connectTls({ ...at, rejectUnauthorized: false, ...tls }) : connect(at);
    const left = [...send];
    let received = "";
    const seen = { received: "", ended: false, error: "" };
    const next = (): void => {
      const text = left.shift();
      if (text !== undefined) socket.write(text);
      if (left.length === 0 && halfClose) socket.end();
    };
    socket.once(tls ? "secureConnect" : "connect", next);
    socket.on("data", (chunk: Buffer) => {
      seen.received += chunk.toString("latin1");
      received += chunk.toString("latin1");
      if (!until || !(typeof until === "function" ? until(received) : until.test(received))) return;
      received = "";
      if (left.length > 0) next();
      else socket.destroy();
    });
    socket.on("end", () => {
      seen.ended = true;
      socket.end();
    });
    socket.on("error", (error: NodeJS.ErrnoException) => (seen.error = error.code ?? error.message));
    const timer = setTimeout(() => reject(new Error(`no end after ${JSON.stringify(seen)}`)), timeout);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(frames ? { ...seen, received: byStream(seen.received) } : seen);
    });
  });
}

const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const last = "Connection: close\r\n";
const upgrade =
  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
/** A masked text "hi", and a masked close with 1000 (RFC 6455, 5.2). */
const hi = Buffer.from([0x81, 0x82, 1, 2, 3, 4, 0x68 ^ 1, 0x69 ^ 2]);
const bye = Buffer.from([0x88, 0x82, 1, 2, 3, 4, 0x03 ^ 1, 0xe8 ^ 2]);

const http1: Record<string, Talk> = {
  "one request": { send: [get("/a", last)] },
  "three on a kept connection": {
    send: [get("/a"), get("/b?wait=5"), get("/c", last)],
    until: / 0\n(\r\n0\r\n\r\n)?$/,
  },
  "two in a pipeline": { send: [get("/a?wait=5") + get("/b", last)] },
  "a chunked body": {
    send: [
      "POST /up HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ],
  },
  "expect: 100-continue": {
    send: [
      "POST /up HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n",
      "ok",
    ],
    until: /(Continue\r\n\r\n|2\n)$/,
  },
  HEAD: { send: ["HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"] },
  "HTTP/1.0": { send: ["GET /a HTTP/1.0\r\n\r\n"] },
  events: { send: [get("/events", last)] },
  // Some servers end with their client: it has ended long before the answer, whatever the machine does.
  "a half-closed request": { send: [get("/a?wait=300")], halfClose: true },
  garbage: { send: [Buffer.from([0, 1, 2, 0x20, 13, 10, 13, 10])] },
  nothing: { send: [""], halfClose: true },
  "half a request": { send: ["GET / HT"], halfClose: true },
  "an upgrade": { send: [get("/chat", upgrade), get("/a", last)], until: / 0\n$/ },
  "a tunnel": { send: ["CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", "through"], until: /(\r\n\r\n|through)$/ },
};

const webSocket: Talk = {
  send: [get("/chat", upgrade), hi, bye],
  until: (received) => ["\r\n\r\n", "\x82\x02hi", "\x88\x02\x03\xe8"].some((end) => received.endsWith(end)),
};

const frame = (type: number, flags: number, on: number, payload: readonly number[] = []): Buffer =>
  Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, on, ...payload]);

/** GET / over http to authority x, on each of the streams (RFC 9113, RFC 7541). */
const h2 = (...streams: readonly number[]): Buffer =>
  Buffer.concat(streams.map((on) => frame(1, 5, on, [0x82, 0x86, 0x84, 0x41, 0x01, 0x78])));
const preface = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0)]);
interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: string;
}

function* framesOf(received: string): Generator<Frame> {
  const bytes = Buffer.from(received, "latin1");
  for (let at = 0, end; at + 9 <= bytes.length; at = end) {
    end = at + 9 + bytes.readUIntBE(at, 3);
    const payload = bytes.toString("latin1", at + 9, end);
    yield { type: bytes[at + 3]!, flags: bytes[at + 4]!, stream: bytes.readUInt32BE(at + 5), payload };
  }
}

const data = 0;
const endStream = 1;

/** The bytes of each stream. In which order streams come, and in how many frames their data, is a matter of time. */
function byStream(received: string): Record<number, Frame[]> {
  const streams: Record<number, Frame[]> = {};
  for (const frame of framesOf(received)) {
    const frames = (streams[frame.stream] ??= []);
    const before = frames.at(-1);
    if (frame.type === data && before?.type === data)
      frames[frames.length - 1] = {
        ...frame,
        flags: before.flags | frame.flags,
        payload: before.payload + frame.payload,
      };
    else frames.push(frame);
  }
  return streams;
}

/** Whether so many streams have ended. */
const ended =
  (count: number) =>
  (received: string): boolean =>
    [...framesOf(received)].filter(({ type, flags }) => type === data && (flags & endStream) > 0).length ===
    count;

const http2: Record<string, Talk> = {
  "one stream": { send: [Buffer.concat([preface, h2(1)])], until: ended(1), frames: true },
  "three streams": { send: [Buffer.concat([preface, h2(1, 3, 5)])], until: ended(3), frames: true },
  "no preface": { send: ["GET / HTTP/1.1\r\n\r\n"] },
  "a preface and garbage": { send: [Buffer.concat([preface, Buffer.alloc(64, 0xff)])] },
};

const alpn = (...ALPNProtocols: string[]): ConnectionOptions => ({ ALPNProtocols });

/** Over TLS, each with what comes before a protocol is chosen: the wrong one, none, and no TLS at all. */
function overTls(conversations: Record<string, Talk>, tls: ConnectionOptions): Record<string, Talk> {
  const all: Record<string, Talk> = {
    "no ALPN": { send: [get("/a", last)], tls: {} },
    "another ALPN": { send: [get("/a", last)], tls: alpn("spdy/3") },
    "no TLS": { send: [get("/a", last)] },
  };
  for (const [name, conversation] of Object.entries(conversations)) all[name] = { ...conversation, tls };
  return all;
}

/** A gRPC call as a client of HTTP/2 sees it: dates are left out, as a server adds them by itself. */
async function call(url: string, path: string): Promise<unknown> {
  const session = connectHttp2(url, { rejectUnauthorized: false });
  const seen: Record<string, unknown> = { error: "", data: "" };
  const note = (name: string) => (headers: OutgoingHttpHeaders) => {
    seen[name] = Object.fromEntries(Object.entries(headers).filter(([header]) => header !== "date"));
  };
  session.on("error", (error: NodeJS.ErrnoException) => (seen["error"] = error.code ?? error.message));
  const headers = { ":path": path, ":method": "POST", "content-type": "application/grpc", te: "trailers" };
  const stream = session.request(headers).on("response", note("headers")).on("trailers", note("trailers"));
  stream
    .setEncoding("latin1")
    .on("data", (text: string) => (seen["data"] = `${String(seen["data"])}${text}`));
  stream.on("error", (error: NodeJS.ErrnoException) => (seen["error"] = error.code ?? error.message));
  stream.end(Buffer.from([0, 0, 0, 0, 2, 0x68, 0x69]));
  await new Promise((resolve) => stream.once("close", resolve));
  session.destroy();
  return { ...seen, code: stream.rstCode };
}

function grpc(server: Bystander, scheme: "http" | "https"): Conversation[] {
  return ["Unary", "Stream", "Unknown"].map((name) => ({
    name,
    server,
    hold: (port) => call(`${scheme}://127.0.0.1:${port}`, `/test.Echo/${name}`),
  }));
}

function talks(server: Bystander, conversations: Record<string, Talk>): Conversation[] {
  return Object.entries(conversations).map(([name, all]) => ({
    name,
    server,
    hold: (port) => talk(port, all),
  }));
}

/** Where the server has no listener for what HTTP/1.1 asks, nobody answers: only what is refused without one is asked. */
const refused = Object.fromEntries(
  Object.entries(overTls(http2, alpn("h2"))).filter(([name]) => name !== "no ALPN"),
);

export const conversations: readonly Conversation[] = [
  ...talks("http", http1),
  ...talks("http with WebSockets and CONNECT", { ...http1, "an upgrade": webSocket }),
  ...talks("https", overTls(http1, {})),
  ...talks("h2c", http2),
  ...talks("h2c by requests", http2),
  ...talks("h2", overTls(http2, alpn("h2"))),
  ...talks("h2 and http/1.1", overTls(http2, alpn("h2"))),
  ...talks("h2 and http/1.1", overTls(http1, alpn("http/1.1"))),
  ...talks("h2 by streams, http/1.1 allowed", refused),
  ...talks("h2 by streams, http/1.1 allowed", {
    "http/1.1, half-closed": { send: [get("/a")], tls: alpn("http/1.1"), halfClose: true },
    "a stream after it": {
      send: [Buffer.concat([preface, h2(1)])],
      tls: alpn("h2"),
      until: ended(1),
      frames: true,
    },
  }),
  ...grpc("grpc", "http"),
  ...talks("grpc", { "no preface": http2["no preface"]! }),
  ...grpc("grpc over tls", "https"),
  ...talks("grpc over tls", overTls({}, {})),
  ...grpc("grpc over tls", "https"),
];
