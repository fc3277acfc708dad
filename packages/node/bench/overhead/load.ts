/** Closed-loop load: good for cost per request, which is all that is measured here, and for nothing else. */
import { createHistogram } from "node:perf_hooks";
import { connect as connectHttp2, type ClientHttp2Session } from "node:http2";
import { connect, type Socket } from "node:net";

export type Mode = "keep-alive" | "close" | "http2";

export interface Slice {
  readonly answered: number;
  /** Milliseconds. */
  readonly p99: number;
}

/** Connections to one server, open before and between its slices, so that a slice measures requests alone. */
export interface Target {
  run(milliseconds: number): Promise<Slice>;
  close(): void;
}

type Ask = (done: () => void) => void;

/** Each of `lanes` asks again as soon as it is answered. */
async function drive(lanes: readonly Ask[], milliseconds: number): Promise<Slice> {
  const histogram = createHistogram();
  const end = performance.now() + milliseconds;
  let answered = 0;
  await Promise.all(
    lanes.map(
      (ask) =>
        new Promise<void>((resolve) => {
          const next = (): void => {
            const from = performance.now();
            if (from >= end) return resolve();
            ask(() => {
              answered++;
              histogram.record(Math.max(1, Math.round((performance.now() - from) * 1_000)));
              next();
            });
          };
          next();
        }),
    ),
  );
  return { answered, p99: histogram.percentile(99) / 1_000 };
}

const fail = (error: Error): never => {
  throw error;
};

function open(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => resolve(socket));
    socket.on("error", fail);
  });
}

const question = (connection: string): string => `GET / HTTP/1.1\r\nHost: bench\r\n${connection}\r\n`;

export async function keepAlive(port: number, connections: number): Promise<Target> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  const lanes = sockets.map((socket): Ask => {
    let received = "";
    let answered = (): void => {};
    socket.setEncoding("latin1").on("data", (text: string) => {
      received += text;
      if (!received.endsWith("hello\n")) return;
      received = "";
      answered();
    });
    return (done) => {
      answered = done;
      socket.write(question(""));
    };
  });
  return {
    run: (milliseconds) => drive(lanes, milliseconds),
    close: () => sockets.forEach((socket) => socket.destroy()),
  };
}

function fresh(port: number, connections: number): Target {
  const ask: Ask = (done) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.on("error", fail).on("close", done).resume();
    socket.write(question("Connection: close\r\n"));
  };
  const lanes = Array.from({ length: connections }, () => ask);
  return { run: (milliseconds) => drive(lanes, milliseconds), close: () => {} };
}

async function http2(port: number, connections: number): Promise<Target> {
  const sessions = await Promise.all(
    Array.from(
      { length: connections / 4 },
      () =>
        new Promise<ClientHttp2Session>((resolve) => {
          const session = connectHttp2(`http://127.0.0.1:${port}`, () => resolve(session));
        }),
    ),
  );
  const lanes = Array.from({ length: connections }, (_, index): Ask => {
    const session = sessions[index % sessions.length]!;
    return (done) => void session.request({ ":path": "/" }).on("error", fail).on("close", done).resume();
  });
  return {
    run: (milliseconds) => drive(lanes, milliseconds),
    close: () => sessions.forEach((session) => session.destroy()),
  };
}

export async function target(mode: Mode, port: number, connections = 32): Promise<Target> {
  if (mode === "close") return fresh(port, connections);
  return mode === "http2" ? http2(port, connections) : keepAlive(port, connections);
}
