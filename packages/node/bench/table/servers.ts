/** A server for each protocol of the table, as anyone would write it: answers at once, answers after 300 ms, streams. */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createSecureServer, createServer as createH2c } from "node:http2";
import { createServer as createHttps } from "node:https";
import type { Server as NetServer } from "node:net";
import type { ServiceDefinition } from "@grpc/grpc-js";

/** What libraries are attached to. */
export interface Target {
  /** An HTTP server; undefined where the protocol has another kind, which libraries for HTTP servers do not know. */
  readonly server: NetServer | undefined;
  /** Stops it the way its own documentation does. */
  readonly close: () => Promise<void>;
  readonly listen: (port: number, host: string | undefined) => void;
}

const slow = 300;
const certificate = (): { key: Buffer; cert: Buffer } => {
  const read = (name: string): Buffer =>
    readFileSync(new URL(`../../test/fixtures/${name}`, import.meta.url));
  return { key: read("localhost-key.pem"), cert: read("localhost-cert.pem") };
};

interface Answering {
  end(text: string): unknown;
}

function answer({ url }: { readonly url?: string | undefined }, response: Answering): void {
  if (url === "/slow") setTimeout(() => response.end("slow\n"), slow);
  else response.end("hello\n");
}

function events(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  let number = 0;
  const send = (): void => void response.write(`id: ${++number}\ndata: {"tick":${number}}\n\n`);
  const timer = setInterval(send, 100);
  send();
  response.on("close", () => clearInterval(timer));
}

function http(server: NetServer): Target {
  return {
    server,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
    listen: (port, host) => void server.listen(port, host),
  };
}

// Loaded where they are served only: fifty pods that start together have two cores.
async function webSocket(): Promise<Target> {
  const { WebSocketServer } = await import("ws");
  const server = createServer(answer);
  new WebSocketServer({ server }).on("connection", (socket) => {
    socket.on("error", () => undefined);
    socket.on("message", (data) => socket.send(data));
  });
  return http(server);
}

const raw = (value: Buffer): Buffer => value;
const method = (name: string, responseStream: boolean) => ({
  path: `/lab.Echo/${name}`,
  requestStream: false,
  responseStream,
  requestSerialize: raw,
  requestDeserialize: raw,
  responseSerialize: raw,
  responseDeserialize: raw,
});
const service: ServiceDefinition = {
  Unary: method("Unary", false),
  Slow: method("Slow", false),
  Stream: method("Stream", true),
};

async function grpc(): Promise<Target> {
  const { Server, ServerCredentials } = await import("@grpc/grpc-js");
  const server = new Server();
  server.addService(service, {
    Unary: (_call: unknown, done: (error: null, answer: Buffer) => void) => done(null, Buffer.from("hello")),
    Slow: (_call: unknown, done: (error: null, answer: Buffer) => void) =>
      void setTimeout(() => done(null, Buffer.from("slow")), slow),
    Stream: (call: { write(bytes: Buffer): void; end(): void }) => {
      let left = 20;
      const timer = setInterval(() => {
        call.write(Buffer.from("part"));
        if (--left > 0) return;
        clearInterval(timer);
        call.end();
      }, 50);
    },
  });
  return {
    server: undefined,
    close: () => new Promise((resolve) => server.tryShutdown(() => resolve())),
    listen: (port, host) =>
      server.bindAsync(`${host ?? "0.0.0.0"}:${port}`, ServerCredentials.createInsecure(), (error) => {
        if (error) throw error;
      }),
  };
}

export const servers = {
  http: () => http(createServer(answer)),
  https: () => http(createHttps(certificate(), answer)),
  h2: () => http(createSecureServer(certificate(), answer)),
  h2c: () => http(createH2c(answer)),
  ws: webSocket,
  grpc,
  sse: () => http(createServer(events)),
} as const satisfies Record<string, () => Target | Promise<Target>>;

export type Protocol = keyof typeof servers;
