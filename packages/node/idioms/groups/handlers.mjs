/** Signal handlers as they stand at the end of many a server.js. */
import { promisify } from "node:util";
import { say, serve, sleep } from "../app.mjs";

const closed = (server) =>
  new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve())));
const onBoth = (handler) => ["SIGTERM", "SIGINT"].forEach((signal) => process.on(signal, handler));

export default {
  "no handler": { what: "nothing", program: () => serve() },
  close: {
    what: "`server.close()`",
    program: () =>
      serve((server) =>
        process.on("SIGTERM", () => {
          say("stopping");
          server.close(() => say("closed"));
        }),
      ),
  },
  "close, exit": {
    what: "`server.close(() => process.exit(0))`",
    isQuick: true,
    program: () =>
      serve((server) =>
        process.on("SIGTERM", () => {
          server.close(() => {
            say("closed");
            process.exit(0);
          });
        }),
      ),
  },
  "close, exit, forced": {
    what: "the same, and `process.exit(1)` by a timer if it lasts too long",
    program: () =>
      serve((server) => {
        const shutdown = () => {
          server.close((error) => {
            say("closed");
            process.exit(error ? 1 : 0);
          });
          setTimeout(() => process.exit(1), 8_000).unref();
        };
        onBoth(shutdown);
      }),
  },
  "close, exit with 143": {
    what: "`process.exit(143)` after `close()`",
    program: () =>
      serve((server) => process.once("SIGTERM", () => void closed(server).finally(() => process.exit(143)))),
    exitsAsIs: true,
  },
  exit: {
    what: "`process.exit(0)` at once",
    isQuick: true,
    program: () =>
      serve(() =>
        process.on("SIGTERM", () => {
          say("bye");
          process.exit(0);
        }),
      ),
  },
  "exit with 1": {
    what: "`process.exit(1)` at once",
    program: () => serve(() => process.on("SIGTERM", () => process.exit(1))),
  },
  "exit without a code": {
    what: "`process.exit(128 + number)`",
    program: () => serve(() => process.on("SIGTERM", (_name, number) => process.exit(128 + number))),
    exitsAsIs: true,
  },
  "sleep, close": {
    what: "waits for senders by a timer, then `close()`, then exits",
    isQuick: true,
    program: () =>
      serve((server) =>
        process.on("SIGTERM", async () => {
          await sleep(1_800);
          server.close((error) => {
            say(`closed ${error?.code}`);
            process.exit(error ? 1 : 0);
          });
        }),
      ),
  },
  "sleep, close by a timer": {
    what: "the same by `setTimeout`",
    program: () =>
      serve((server) =>
        process.on("SIGTERM", () => {
          setTimeout(() => server.close((error) => process.exit(error ? 1 : 0)), 1_800);
        }),
      ),
  },
  "sleep, close as a promise": {
    what: "the same by `promisify(server.close)`",
    program: () =>
      serve((server) =>
        process.on("SIGTERM", async () => {
          await sleep(1_800);
          await promisify(server.close.bind(server))();
          say("closed");
          process.exit(0);
        }),
      ),
  },
  "sleep, close by dispose": {
    what: "the same by `server[Symbol.asyncDispose]()`",
    program: () =>
      serve((server) =>
        process.on("SIGTERM", async () => {
          await sleep(1_800);
          await server[Symbol.asyncDispose]();
          say("disposed");
          process.exit();
        }),
      ),
  },
  "clean-up, close": {
    what: "clean-up first, `close()` as the last step",
    program: () =>
      serve((server) =>
        process.on("SIGTERM", async () => {
          say("flushing");
          await sleep(1_500);
          say("flushed");
          await closed(server);
          say("closed");
        }),
      ),
  },
  "close, long clean-up": {
    what: "`close()`, then clean-up that takes seconds",
    isQuick: true,
    program: () =>
      serve((server) =>
        process.on("SIGTERM", async () => {
          await closed(server);
          for (let step = 1; step <= 3; step++) {
            await sleep(700);
            say(`clean-up ${step}`);
          }
          process.exit(0);
        }),
      ),
  },
  "clean-up beside the close": {
    what: "does not wait for `close()`, and exits when the clean-up is done",
    program: () =>
      serve((server) =>
        process.on("SIGTERM", async () => {
          server.close();
          await sleep(300);
          say("pool ended");
          process.exit(0);
        }),
      ),
  },
  "raise again": {
    what: "`process.once`, clean-up, `process.kill(process.pid, signal)`",
    isQuick: true,
    program: () =>
      serve(() =>
        process.once("SIGTERM", (signal) => {
          say("clean-up");
          process.kill(process.pid, signal);
        }),
      ),
    exitsAsIs: true,
  },
  "raise again later": {
    what: "asynchronous clean-up, then the signal again",
    program: () =>
      serve((server) =>
        process.once("SIGTERM", async (signal) => {
          await closed(server);
          await sleep(400);
          say("clean-up");
          process.kill(process.pid, signal);
        }),
      ),
    exitsAsIs: true,
  },
  "remove own handler, raise again": {
    what: "`process.off` in the handler, then the signal again",
    program: () =>
      serve(() => {
        const handler = (signal) => {
          say("clean-up");
          process.off("SIGTERM", handler);
          process.kill(process.pid, signal);
        };
        process.on("SIGTERM", handler);
      }),
    exitsAsIs: true,
  },
  exitCode: {
    what: "`process.exitCode = 3`, `close()`",
    isQuick: true,
    program: () =>
      serve((server) =>
        process.on("SIGTERM", () => {
          process.exitCode = 3;
          server.close();
        }),
      ),
  },
  "exitCode after the close": {
    what: "`close()`, later `process.exitCode = 4`",
    program: () =>
      serve((server) =>
        process.on("SIGTERM", () => {
          server.close(async () => {
            await sleep(300);
            process.exitCode = 4;
          });
        }),
      ),
  },
  beforeExit: {
    what: "`close()`; clean-up in `beforeExit`",
    program: () =>
      serve((server) => {
        let isDone = false;
        process.on("SIGTERM", () => server.close());
        process.on("beforeExit", async () => {
          if (isDone) return;
          isDone = true;
          await sleep(500);
          say("flushed");
        });
      }),
  },
  "exit event": {
    what: 'synchronous clean-up in `process.on("exit")`',
    program: () =>
      serve((server) => {
        process.on("SIGTERM", () => server.close(() => process.exit()));
        process.on("exit", (code) => say(`exit ${code}`));
      }),
  },
  "flag against a second run": {
    what: "`isShuttingDown` makes a second signal `process.exit(1)`",
    program: () =>
      serve((server) => {
        let isShuttingDown = false;
        onBoth(async () => {
          if (isShuttingDown) process.exit(1);
          isShuttingDown = true;
          say("shutting down");
          await closed(server);
          say("done");
          process.exit(0);
        });
      }),
  },
  "try, catch, exit": {
    what: "`try { await close() } catch { exit(1) }`",
    program: () =>
      serve((server) =>
        process.on("SIGTERM", async () => {
          try {
            await closed(server);
            await sleep(200);
            say("database disconnected");
            process.exit(0);
          } catch (error) {
            say(error.code);
            process.exit(1);
          }
        }),
      ),
  },
  "health fails, then close": {
    what: "a flag makes health checks fail; `close()` comes later",
    program: async () => {
      const { createServer } = await import("node:http");
      const { work } = await import("../app.mjs");
      let isLeaving = false;
      const server = createServer((request, response) => {
        if (request.url !== "/healthz") return work(request, response);
        response.statusCode = isLeaving ? 503 : 200;
        return response.end();
      });
      await serve(
        () =>
          process.on("SIGTERM", () => {
            isLeaving = true;
            setTimeout(() => server.close(() => say("closed")), 1_500);
          }),
        server,
      );
    },
  },
};
