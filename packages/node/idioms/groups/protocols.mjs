/** What is in flight is more than a request and its answer. */
import { createServer } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import { createServer as createTcp } from "node:net";
import { createRequire } from "node:module";
import { attach, attachAll, listening, ready, say, serve, sleep, work } from "../app.mjs";

const require = createRequire(import.meta.url);
const closeThenExit = (server) =>
  process.on("SIGTERM", () =>
    server.close(() => {
      say("closed");
      process.exit(0);
    }),
  );

export default {
  "event stream that ends": {
    what: "a POST answered by `text/event-stream`, as language models answer; `close()`",
    client: "events",
    program: () =>
      serve((server) => process.on("SIGTERM", () => server.close(() => say("closed"))), completions(25)),
  },
  "event stream that ends, no handler": {
    what: "the same without a handler",
    client: "events",
    program: () => serve(undefined, completions(25)),
  },
  "event stream that ends, by GET": {
    what: "a GET without `Accept` answered by `text/event-stream`, which ends; `close()`",
    client: "report",
    program: () =>
      serve((server) => process.on("SIGTERM", () => server.close(() => say("closed"))), completions(12)),
  },
  "event streams, ended by the program": {
    what: "ends its own event streams in the handler, each with a last event",
    client: "feeds",
    program: () => {
      const feeds = new Set();
      const server = createServer((request, response) => {
        if (!request.url.startsWith("/feed")) return work(request, response);
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("data: 1\n\n");
        feeds.add(response);
        return response.on("close", () => feeds.delete(response));
      });
      return serve(() => {
        process.on("SIGTERM", () => {
          for (const feed of feeds) feed.end("event: bye\ndata: bye\n\n");
          server.close(() => process.exit(0));
        });
      }, server);
    },
  },
  "100 Continue": {
    what: "an upload whose `checkContinue` is answered after the signal",
    client: "expecting",
    program: () => {
      const server = createServer((request, response) =>
        request.resume().on("end", () => response.end("ok")),
      );
      server.on("checkContinue", (request, response) =>
        setTimeout(() => {
          response.writeContinue();
          server.emit("request", request, response);
        }, 700),
      );
      return serve(closeThenExit, server);
    },
  },
  "HTTP/2": {
    what: "streams of a session in clear text; `close()`",
    client: "http2",
    program: () => serve(closeThenExit, createHttp2(work)),
  },
  "HTTP/2, sessions closed by the program": {
    what: "the handler calls `session.close()` of every session",
    client: "http2",
    program: () => {
      const sessions = new Set();
      const server = createHttp2(work).on("session", (session) => {
        sessions.add(session);
        session.on("close", () => sessions.delete(session));
      });
      return serve(
        () =>
          process.on("SIGTERM", () => {
            server.close(() => process.exit(0));
            for (const session of sessions) session.close();
          }),
        server,
      );
    },
  },
  "gRPC, tryShutdown": {
    what: "`server.tryShutdown()`",
    client: "grpc",
    program: () => grpc({}, "tryShutdown"),
  },
  "gRPC, tryShutdown, then force": {
    what: "`tryShutdown()`, and `forceShutdown()` by a timer",
    client: "grpc",
    program: () => grpc({}, "force"),
  },
  "gRPC, keepalive": {
    what: "`tryShutdown()` of a server that pings its clients",
    client: "lonelyGrpc",
    program: () => grpc({ "grpc.keepalive_time_ms": 300, "grpc.keepalive_timeout_ms": 200 }, "tryShutdown"),
  },
  "gRPC, keepalive, no handler": {
    what: "a server that pings its clients, without a handler",
    client: "lonelyGrpc",
    program: () => grpc({ "grpc.keepalive_time_ms": 300, "grpc.keepalive_timeout_ms": 200 }),
  },
  ws: {
    what: "`wss.close()` and `server.close()`, clients are left to the exit",
    client: "webSocket",
    program: () =>
      webSockets((server, sockets) => {
        sockets.close();
        server.close();
        setTimeout(() => process.exit(0), 1_500);
      }),
  },
  "ws, closed by the program": {
    what: "`client.close()` for each client, then `server.close()`",
    client: "webSocket",
    program: () =>
      webSockets((server, sockets) => {
        for (const socket of sockets.clients) socket.close(1012, "restart");
        sockets.close(() => server.close(() => process.exit(0)));
      }),
  },
  "ws, terminated by the program": {
    what: "`client.close()`, and `client.terminate()` by a timer",
    client: "webSocket",
    program: () =>
      webSockets((server, sockets) => {
        for (const socket of sockets.clients) socket.close();
        setTimeout(() => {
          for (const socket of sockets.clients) socket.terminate();
          server.close(() => process.exit(0));
        }, 500);
      }),
  },
  "ws, no handler": {
    what: "WebSockets without a handler",
    client: "webSocket",
    program: () => webSockets(),
  },
  "socket.io": {
    what: "`io.close()`",
    client: "http",
    program: async () => {
      const { Server } = require("socket.io");
      const server = createServer();
      const io = new Server(server, { serveClient: false });
      server.on("request", (request, response) => {
        if (!request.url.startsWith("/socket.io")) work(request, response);
      });
      await serve(
        () =>
          process.on("SIGTERM", () =>
            io.close(() => {
              say("io closed");
              process.exit(0);
            }),
          ),
        server,
      );
    },
  },
  "TCP server": {
    what: "`net` server with a protocol of its own: none of Lameduck's business",
    client: "tcp",
    onlyImport: true,
    holds: false,
    program: async () => {
      const server = createTcp((socket) => {
        socket.on("error", () => {});
        socket.on("data", (data) => setTimeout(() => socket.write(data), 500));
      });
      process.on("SIGTERM", async () => {
        server.close(() => say("closed"));
        await sleep(1_500);
        say("drained");
        process.exit(0);
      });
      ready(await listening(server));
    },
  },
  "TCP and HTTP": {
    what: "a protocol of its own beside HTTP health checks",
    client: "tcpBesideHttp",
    program: async () => {
      const server = createTcp((socket) => {
        socket.on("error", () => {});
        socket.on("data", (data) => setTimeout(() => socket.write(data), 900));
      });
      const own = await listening(server);
      const health = createServer((request, response) => {
        if (request.url === "/tcp") response.end(String(own));
        else work(request, response);
      });
      attach(health);
      const port = await listening(health);
      process.on("SIGTERM", async () => {
        health.close();
        server.close(() => say("tcp closed"));
        await sleep(2_800);
        say("drained");
        process.exit(0);
      });
      ready(port);
    },
  },
};

function completions(parts) {
  return createServer((request, response) => {
    if (request.url === "/completion") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      let number = 0;
      const timer = setInterval(() => {
        if (++number <= parts) return void response.write(`data: {"token":${number}}\n\n`);
        clearInterval(timer);
        return response.end("data: [DONE]\n\n");
      }, 100);
      response.on("close", () => clearInterval(timer));
      return request.resume();
    }
    return work(request, response);
  });
}

async function grpc(options, how) {
  const { Server, ServerCredentials } = require("@grpc/grpc-js");
  const raw = (bytes) => bytes;
  const server = new Server(options);
  const unary = {
    path: "/t.T/Unary",
    requestStream: false,
    responseStream: false,
    requestSerialize: raw,
    requestDeserialize: raw,
    responseSerialize: raw,
    responseDeserialize: raw,
  };
  server.addService(
    { Unary: unary },
    { Unary: (call, done) => setTimeout(() => done(null, call.request), Number(call.request.toString())) },
  );
  attachAll();
  if (how)
    process.on("SIGTERM", () => {
      if (how === "force") setTimeout(() => server.forceShutdown(), 5_000).unref();
      server.tryShutdown((error) => {
        say(`shut down ${error}`);
        process.exit(error ? 1 : 0);
      });
    });
  server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
    if (error) throw error;
    ready(port);
  });
}

function webSockets(end) {
  const { WebSocketServer } = require("ws");
  const server = createServer(work);
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket) => {
    socket.on("error", () => {});
    socket.on("message", (data) => socket.send(data));
  });
  return serve(() => end && process.on("SIGTERM", () => end(server, sockets)), server);
}
