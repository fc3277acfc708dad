/** Those who talk to a program while it is terminated. Each notes what was answered, by a name that is the same in every run. */
import { Agent, request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { createRequire } from "node:module";
import { connect } from "node:net";

export interface Conversation {
  readonly port: number;
  /** Everything is in flight: the signal may come. */
  begun(): void;
  readonly signalled: Promise<void>;
  /** @param isNew whether it began after the signal. */
  note(what: string, isAnswered: boolean, isNew?: boolean): void;
}

type Client = (conversation: Conversation) => Promise<void>;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** Longer than any grace period here. */
const longest = 14_000;
/** In flight at the signal: one ends in the hold, the other after it. */
const slowMs = 700;
const longMs = 2_200;
/** New requests begin in the first moments only, so that their senders are soon seen to be silent. */
const newEvery = 60;
const newRequests = 6;

interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly agent?: Agent;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** The text of a whole answer; undefined where there was none. */
function ask(port: number, { path = "/", method = "GET", agent, headers = {}, body }: Asked = {}): Promise<string | undefined> {
  return new Promise((resolve) => {
    const chosen = { host: "127.0.0.1", port, path, method, headers, agent: agent ?? false, timeout: longest };
    const asking = request(chosen as object, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("end", () => resolve(response.statusCode === 200 ? text : undefined));
      response.on("error", () => resolve(undefined));
    });
    asking.on("timeout", () => asking.destroy());
    asking.on("error", () => resolve(undefined));
    asking.end(body);
  });
}

const isOk = async (answer: Promise<string | undefined>): Promise<boolean> => (await answer) !== undefined;

/** New requests in the first moments after the signal, each on a connection of its own. */
async function arrive({ port, note, signalled }: Conversation): Promise<void> {
  await signalled;
  const asked: Promise<void>[] = [];
  for (let number = 1; number <= newRequests; number++) {
    await sleep(newEvery);
    asked.push(isOk(ask(port)).then((isAnswered) => note(`new request ${number}`, isAnswered, true)));
  }
  await Promise.all(asked);
}

const http: Client = async (conversation) => {
  const { port, note, begun, signalled } = conversation;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  await ask(port, { agent });
  const slow = isOk(ask(port, { path: `/?ms=${slowMs}` })).then((it) => note("slow request", it));
  const long = isOk(ask(port, { path: `/?ms=${longMs}`, method: "POST", body: "{}" })).then((it) =>
    note("long request", it),
  );
  // Answered after them, it shows that they have been received.
  await sleep(20);
  await ask(port);
  begun();
  await signalled;
  const pooled = sleep(newEvery)
    .then(() => isOk(ask(port, { agent })))
    .then((it) => note("request on an open connection", it, true));
  await Promise.all([slow, long, pooled, arrive(conversation)]);
  agent.destroy();
};

/** A health check and nothing else, for programs whose work is elsewhere. */
const health: Client = async ({ port, begun }) => {
  await ask(port, { path: "/healthz" });
  begun();
};

/** Talks to nobody: a worker, or a program that ends by itself. */
const none: Client = ({ begun }) => {
  begun();
  return Promise.resolve();
};

/** A language model's completion, and an event stream without an end. */
const events: Client = async (conversation) => {
  const { port, note, begun, signalled } = conversation;
  const completion = ask(port, { path: "/completion", method: "POST", body: "{}" }).then((text) =>
    note("completion", text?.endsWith("[DONE]\n\n") === true),
  );
  const feed = ask(port, { path: "/feed" });
  await sleep(20);
  await ask(port);
  begun();
  await signalled;
  await Promise.all([completion, feed, arrive(conversation)]);
};

/** Event streams that the program ends itself, by a last event. */
const feeds: Client = async (conversation) => {
  const { port, note, begun, signalled } = conversation;
  const feed = ask(port, { path: "/feed" }).then((text) => note("last event", text?.includes("bye") === true));
  await sleep(20);
  await ask(port);
  begun();
  await signalled;
  await Promise.all([feed, arrive(conversation)]);
};

/** An upload that waits for 100 Continue until after the signal. */
const expecting: Client = async (conversation) => {
  const { port, note, begun, signalled } = conversation;
  await ask(port);
  const upload = new Promise<boolean>((resolve) => {
    const headers = { expect: "100-continue", "content-length": "5" };
    const asking = request({ host: "127.0.0.1", port, method: "POST", path: "/upload", headers, agent: false });
    asking.on("continue", () => asking.end("12345"));
    asking.on("response", (response) => response.resume().on("end", () => resolve(response.statusCode === 200)));
    asking.on("error", () => resolve(false));
    asking.flushHeaders();
  });
  await sleep(50);
  await ask(port);
  begun();
  await signalled;
  await Promise.all([upload.then((it) => note("upload", it)), arrive(conversation)]);
};

const http2: Client = async (conversation) => {
  const { port, note, begun, signalled } = conversation;
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  session.on("error", () => undefined);
  const stream = (path: string): Promise<boolean> =>
    new Promise((resolve) => {
      const sent = session.request({ ":path": path });
      let isWhole = false;
      sent.on("response", () => undefined).on("end", () => (isWhole = true));
      sent.on("error", () => undefined).on("close", () => resolve(isWhole && sent.rstCode === 0));
      sent.resume();
    });
  await stream("/");
  const slow = stream(`/?ms=${slowMs}`).then((it) => note("slow stream", it));
  const long = stream(`/?ms=${longMs}`).then((it) => note("long stream", it));
  await stream("/");
  begun();
  await signalled;
  await Promise.all([slow, long]);
  session.close();
};

interface Received {
  on(event: string, listener: (...args: never[]) => void): this;
  send(text: string): void;
}

/** WebSockets that are told that the server goes (any close frame), instead of losing their connection. */
const webSocket: Client = async ({ port, note, begun, signalled }) => {
  const { WebSocket } = createRequire(import.meta.url)("ws") as { WebSocket: new (url: string) => Received };
  const sockets = Array.from({ length: 5 }, () => new WebSocket(`ws://127.0.0.1:${port}`));
  const closed = sockets.map(
    (socket) =>
      new Promise<number>((resolve) => {
        socket.on("error", () => undefined);
        socket.on("close", (code: number) => resolve(code));
      }),
  );
  await Promise.all(sockets.map((socket) => new Promise<void>((resolve) => socket.on("open", () => resolve()))));
  const echo = (socket: Received): Promise<void> =>
    new Promise((resolve) => {
      socket.on("message", () => resolve());
      socket.send("echo");
    });
  await Promise.all(sockets.map(echo));
  begun();
  await signalled;
  const codes = await Promise.all(closed);
  note("close frame", codes.every((code) => code !== 1006));
  note("status in the close frame", codes.every((code) => code !== 1006 && code !== 1005), true);
};

const grpc: Client = async (conversation) => {
  const { port, note, begun, signalled } = conversation;
  const { Client: GrpcClient, credentials } = createRequire(import.meta.url)("@grpc/grpc-js") as {
    Client: new (address: string, how: unknown) => {
      makeUnaryRequest(path: string, to: unknown, from: unknown, bytes: Buffer, done: (error: unknown) => void): void;
      close(): void;
    };
    credentials: { createInsecure(): unknown };
  };
  const client = new GrpcClient(`127.0.0.1:${port}`, credentials.createInsecure());
  const raw = (bytes: Buffer): Buffer => bytes;
  const call = (ms: number): Promise<boolean> =>
    new Promise((resolve) =>
      client.makeUnaryRequest("/t.T/Unary", raw, raw, Buffer.from(String(ms)), (error) => resolve(!error)),
    );
  await call(0);
  const slow = call(slowMs).then((it) => note("slow call", it));
  const long = call(longMs).then((it) => note("long call", it));
  // A session that is a second old is told early that it shall not last.
  await sleep(1_000);
  const longest = call(1.5 * longMs).then((it) => note("longest call", it));
  await call(0);
  begun();
  await signalled;
  await Promise.all([slow, long, longest]);
  client.close();
};

/** A protocol of its own over TCP: what was sent is echoed a while later. */
const tcp: Client = async ({ port, note, begun, signalled }) => {
  const socket = connect(port, "127.0.0.1");
  const answered = new Promise<boolean>((resolve) => {
    socket.once("data", () => socket.once("data", () => resolve(true)).write("second"));
    socket.on("error", () => undefined).on("close", () => resolve(false));
  });
  socket.write("first");
  await new Promise((resolve) => socket.once("data", resolve));
  begun();
  await signalled;
  note("echo", await answered);
  socket.destroy();
};

const tcpBesideHttp: Client = async (conversation) => {
  await ask(conversation.port);
  await Promise.all([tcp({ ...conversation, port: conversation.port + 1 }), arrive(conversation)]);
};

/** Twenty at once, after the program has replaced one of those that accept from its listener. */
const survivors: Client = async ({ port, note, begun }) => {
  await ask(port, { path: "/replace" });
  const answers = await Promise.all(Array.from({ length: 20 }, () => isOk(ask(port))));
  note("twenty at once after a replacement", answers.every(Boolean));
  begun();
};

/** Asks a program to replace its helper while it serves. */
const replacing: Client = async ({ port, note, begun }) => {
  const from = performance.now();
  await ask(port, { path: "/replace" });
  // A helper without handlers ends at once.
  note("helper replaced within two seconds", performance.now() - from < 2_000);
  begun();
};

/** Queries of GraphQL in flight, and new ones. */
const graphql: Client = async (conversation) => {
  const { port, note, begun, signalled } = conversation;
  const query = (ms: number): Promise<boolean> => {
    const body = JSON.stringify({ query: `{ late(ms: ${ms}) }` });
    return isOk(ask(port, { path: "/graphql", method: "POST", headers: { "content-type": "application/json" }, body }));
  };
  await query(0);
  const slow = query(slowMs).then((it) => note("slow query", it));
  const long = query(longMs).then((it) => note("long query", it));
  await sleep(20);
  await query(0);
  begun();
  await signalled;
  await sleep(newEvery);
  note("new query", await query(0), true);
  await Promise.all([slow, long]);
};

/** Asks a program to end itself, with a request in flight. */
const quit: Client = async ({ port, note, begun }) => {
  const long = isOk(ask(port, { path: `/?ms=${slowMs}` }));
  await sleep(20);
  await ask(port, { path: "/quit" });
  begun();
  note("request in flight", await long);
};

export const clients = {
  http,
  graphql,
  quit,
  health,
  none,
  events,
  feeds,
  expecting,
  http2,
  webSocket,
  grpc,
  tcp,
  tcpBesideHttp,
  survivors,
  replacing,
} as const satisfies Record<string, Client>;

export type ClientName = keyof typeof clients;
