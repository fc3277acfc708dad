/** Handlers that look after connections themselves, and handlers that look after other handlers. */
import { createServer } from "node:http";
import { ready, attach, listening, say, serve, sleep, work } from "../app.mjs";

export default {
  closeAllConnections: {
    what: "`close()`, then `closeAllConnections()` by a timer",
    program: () =>
      serve((server) =>
        process.on("SIGTERM", () => {
          server.close(() => say("closed"));
          setTimeout(() => server.closeAllConnections(), 3_000).unref();
        }),
      ),
  },
  closeIdleConnections: {
    what: "`close()` and `closeIdleConnections()` every 100 ms",
    program: () =>
      serve((server) =>
        process.on("SIGTERM", () => {
          const timer = setInterval(() => server.closeIdleConnections(), 100);
          server.close(() => {
            clearInterval(timer);
            say("closed");
          });
        }),
      ),
  },
  "set of sockets": {
    what: "keeps all sockets in a set, ends those that are left by a timer",
    program: () =>
      serve((server) => {
        const sockets = new Set();
        server.on("connection", (socket) => {
          sockets.add(socket);
          socket.once("close", () => sockets.delete(socket));
        });
        process.on("SIGTERM", () => {
          server.close(() => process.exit(0));
          setTimeout(() => sockets.forEach((socket) => socket.destroy()), 3_000).unref();
        });
      }),
  },
  "set of sockets, destroyed at once": {
    what: "destroys all sockets in the handler",
    program: () =>
      serve((server) => {
        const sockets = new Set();
        server.on("connection", (socket) => sockets.add(socket));
        process.on("SIGTERM", () => {
          server.close(() => say("closed"));
          for (const socket of sockets) socket.destroy();
        });
      }),
  },
  "answers that say close": {
    what: "`Connection: close` on answers after a flag, `close()` later",
    program: async () => {
      let isLeaving = false;
      const server = createServer((request, response) => {
        if (isLeaving) response.setHeader("connection", "close");
        work(request, response);
      });
      await serve(
        () =>
          process.on("SIGTERM", () => {
            isLeaving = true;
            setTimeout(() => server.close(() => process.exit(0)), 1_500);
          }),
        server,
      );
    },
  },
  "two servers": {
    what: "`Promise.all` of `close()` of an API and an admin server",
    program: async () => {
      const servers = [createServer(work), createServer((_request, response) => response.end("metrics"))];
      attach(...servers);
      const [port] = await Promise.all(servers.map((server) => listening(server)));
      process.on("SIGTERM", async () => {
        await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
        say("both closed");
        process.exit(0);
      });
      ready(port);
    },
  },
  "two servers, each for itself": {
    what: "the same with `lameduck()` for each of them, an interval, and `process.exit(3)`",
    program: async () => {
      const servers = [createServer(work), createServer((_request, response) => response.end("metrics"))];
      for (const server of servers) attach(server);
      const [port] = await Promise.all(servers.map((server) => listening(server)));
      setInterval(() => {}, 100);
      process.on("SIGTERM", async () => {
        await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
        say("both closed");
        process.exit(3);
      });
      ready(port);
    },
  },
  "one server after the other": {
    what: "closes the API, and later the admin server",
    program: async () => {
      const [api, admin] = [
        createServer(work),
        createServer((_request, response) => response.end("metrics")),
      ];
      attach(api, admin);
      const port = await listening(api);
      await listening(admin);
      process.on("SIGTERM", () => {
        api.close((error) => {
          say(`api ${error?.code}`);
          setTimeout(() => admin.close((late) => say(`admin ${late?.code}`)), 1_500);
        });
      });
      ready(port);
    },
  },
  "listen with a signal": {
    what: "`listen({ signal })` of an AbortController that the handler aborts",
    program: async () => {
      const stop = new AbortController();
      const server = createServer(work);
      attach(server);
      server.on("close", () => say("closed"));
      await new Promise((resolve) =>
        server.listen({ port: 0, host: "127.0.0.1", signal: stop.signal }, resolve),
      );
      process.on("SIGTERM", () => stop.abort());
      ready(server.address().port);
    },
  },
  "a handler for each part": {
    what: "several handlers, each of which closes its own part",
    program: () =>
      serve((server) => {
        process.on("SIGTERM", () => server.close(() => say("server closed")));
        process.on("SIGTERM", async () => {
          await sleep(200);
          say("queue closed");
        });
        process.once("SIGTERM", () => setTimeout(() => say("cache closed"), 900));
      }),
  },
  "twelve handlers": {
    what: "more handlers than Node warns of",
    program: () =>
      serve((server) => {
        process.setMaxListeners(12);
        for (let part = 1; part <= 11; part++) process.on("SIGTERM", () => say(`part ${part}`));
        process.on("SIGTERM", () => server.close());
      }),
  },
  "ten handlers": {
    what: "as many handlers as Node allows without a warning",
    program: () =>
      serve((server) => {
        for (let part = 1; part <= 9; part++) process.on("SIGTERM", () => say(`part ${part}`));
        process.on("SIGTERM", () => server.close());
      }),
  },
  removeAllListeners: {
    what: '`process.removeAllListeners("SIGTERM")`, then a handler of its own',
    isQuick: true,
    program: () =>
      serve((server) => {
        process.removeAllListeners("SIGTERM");
        process.on("SIGTERM", () => server.close(() => say("closed")));
      }),
  },
  "removeAllListeners, no handler": {
    what: '`process.removeAllListeners("SIGTERM")` and no handler',
    program: () => serve(() => process.removeAllListeners("SIGTERM")),
  },
  "removeAllListeners of everything": {
    what: "`process.removeAllListeners()` at the start of a framework",
    program: () =>
      serve((server) => {
        process.removeAllListeners();
        process.on("SIGTERM", () => server.close(() => say("closed")));
      }),
  },
  prependListener: {
    what: "`process.prependListener` and `prependOnceListener`",
    program: () =>
      serve((server) => {
        process.prependListener("SIGTERM", () => say("first"));
        process.prependOnceListener("SIGTERM", () => server.close(() => process.exit(0)));
      }),
  },
  "handler in the handler": {
    what: "registers the handler that exits in the first handler",
    program: () =>
      serve((server) =>
        process.once("SIGTERM", () => {
          process.once("SIGTERM", () => process.exit(9));
          server.close(() => say("closed"));
        }),
      ),
  },
  "emit by itself": {
    what: 'a route calls `process.emit("SIGTERM")`',
    client: "quit",
    signal: "none",
    program: () =>
      serve(
        (server) => process.on("SIGTERM", () => server.close(() => process.exit(0))),
        quitting(() => process.emit("SIGTERM", "SIGTERM")),
      ),
  },
  "kill by itself": {
    what: 'a route calls `process.kill(process.pid, "SIGTERM")`',
    client: "quit",
    signal: "none",
    program: () =>
      serve(
        (server) => process.on("SIGTERM", () => server.close(() => process.exit(0))),
        quitting(() => process.kill(process.pid, "SIGTERM")),
      ),
  },
  "ignored signal": {
    what: "an empty handler: serves until SIGKILL",
    program: () => serve(() => process.on("SIGTERM", () => say("ignored"))),
  },
};

function quitting(quit) {
  return createServer((request, response) => {
    work(request, response);
    if (request.url === "/quit") setTimeout(quit, 20);
  });
}
