/** Clients whose connection carries more than one exchange at a time. */
import { connect as connectHttp2 } from "node:http2";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { longMs, sleep, slowMs, type Client } from "./conversation.ts";
import { arrive, ask } from "./http.ts";

export const http2: Client = async (conversation) => {
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
export const webSocket: Client = async ({ port, note, begun, signalled }) => {
  const { WebSocket } = createRequire(import.meta.url)("ws") as { WebSocket: new (url: string) => Received };
  const sockets = Array.from({ length: 5 }, () => new WebSocket(`ws://127.0.0.1:${port}`));
  const closed = sockets.map(
    (socket) =>
      new Promise<number>((resolve) => {
        socket.on("error", () => undefined);
        socket.on("close", (code: number) => resolve(code));
      }),
  );
  await Promise.all(
    sockets.map((socket) => new Promise<void>((resolve) => socket.on("open", () => resolve()))),
  );
  const echo = (socket: Received): Promise<void> =>
    new Promise((resolve) => {
      socket.on("message", () => resolve());
      socket.send("echo");
    });
  await Promise.all(sockets.map(echo));
  begun();
  await signalled;
  const at = Date.now();
  const codes = await Promise.all(closed);
  note(
    "close frame",
    codes.every((code) => code !== 1006),
  );
  note(
    "status in the close frame",
    codes.every((code) => code !== 1006 && code !== 1005),
    at,
  );
};

interface GrpcCalls {
  readonly call: (ms: number) => Promise<boolean>;
  readonly close: () => void;
}

function grpcCalls(port: number): GrpcCalls {
  const { Client: GrpcClient, credentials } = createRequire(import.meta.url)("@grpc/grpc-js") as {
    Client: new (
      address: string,
      how: unknown,
    ) => {
      makeUnaryRequest(
        path: string,
        to: unknown,
        from: unknown,
        bytes: Buffer,
        done: (error: unknown) => void,
      ): void;
      close(): void;
    };
    credentials: { createInsecure(): unknown };
  };
  const client = new GrpcClient(`127.0.0.1:${port}`, credentials.createInsecure());
  const raw = (bytes: Buffer): Buffer => bytes;
  return {
    call: (ms) =>
      new Promise((resolve) =>
        client.makeUnaryRequest("/t.T/Unary", raw, raw, Buffer.from(String(ms)), (error) => resolve(!error)),
      ),
    close: () => client.close(),
  };
}

export const grpc: Client = async ({ port, note, begun, signalled }) => {
  const { call, close } = grpcCalls(port);
  await call(0);
  const slow = call(slowMs).then((it) => note("slow call", it));
  const long = call(longMs).then((it) => note("long call", it));
  await call(0);
  begun();
  await signalled;
  await Promise.all([slow, long]);
  close();
};

/** The only call of its session, which is a second old when the hold has come to its floor. */
export const lonelyGrpc: Client = async ({ port, note, begun, signalled }) => {
  const { call, close } = grpcCalls(port);
  const at = Date.now();
  const only = call(1.5 * longMs).then((it) => note("only call", it, at));
  await sleep(500);
  begun();
  await signalled;
  await only;
  close();
};

/** A protocol of its own over TCP: what was sent is echoed a while later. */
export const tcp: Client = async ({ port, note, begun, signalled }) => {
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

export const tcpBesideHttp: Client = async (conversation) => {
  const own = Number(await ask(conversation.port, { path: "/tcp" }));
  await Promise.all([tcp({ ...conversation, port: own }), arrive(conversation)]);
};
