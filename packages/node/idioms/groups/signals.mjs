/** Other signals, second signals, and errors on the way. */
import { createServer } from "node:http";
import { say, serve, sleep, work } from "../app.mjs";

const closeThenExit = (signal) => (server) =>
  process.on(signal, () => {
    say(signal);
    server.close(() => process.exit(0));
  });

export default {
  SIGINT: {
    what: "`close()` at SIGINT, which an image's STOPSIGNAL or pm2 sends",
    signal: "SIGINT",
    isQuick: true,
    program: () => serve(closeThenExit("SIGINT")),
  },
  "SIGINT, no handler": { what: "nothing, at SIGINT", signal: "SIGINT", program: () => serve() },
  "SIGINT, exit 130": {
    what: "`process.exit(130)` at SIGINT",
    signal: "SIGINT",
    exitsAsIs: true,
    program: () => serve(() => process.on("SIGINT", () => process.exit(130))),
  },
  SIGQUIT: {
    what: "`close()` at SIGQUIT",
    signal: "SIGQUIT",
    holds: false,
    program: () => serve(closeThenExit("SIGQUIT")),
  },
  SIGHUP: {
    what: "`close()` at SIGHUP",
    signal: "SIGHUP",
    holds: false,
    program: () => serve(closeThenExit("SIGHUP")),
  },
  "SIGUSR2 as nodemon sends it": {
    what: "clean-up at SIGUSR2, then the signal again",
    signal: "SIGUSR2",
    holds: false,
    exitsAsIs: true,
    program: () =>
      serve(() =>
        process.once("SIGUSR2", async () => {
          await sleep(800);
          say("clean-up");
          process.kill(process.pid, "SIGUSR2");
        }),
      ),
  },
  "second SIGTERM": {
    what: "a second signal while the program closes; its handlers count on one",
    again: 500,
    program: () =>
      serve((server) =>
        process.once("SIGTERM", () => {
          server.close(() => {
            say("closed");
            process.exit(0);
          });
        }),
      ),
  },
  "second SIGTERM, by a handler that counts": {
    what: "`process.exit(1)` at the second signal",
    again: 3_500,
    program: () => {
      let count = 0;
      return serve((server) =>
        process.on("SIGTERM", () => {
          if (++count > 1) process.exit(1);
          server.close(() => process.exit(0));
        }),
      );
    },
  },
  "the whole group": {
    what: "the signal reaches every process of the group, as from a terminal",
    toGroup: true,
    program: () => serve(closeThenExit("SIGTERM")),
  },
  "handler throws": {
    what: "the handler throws",
    program: () =>
      serve(() =>
        process.on("SIGTERM", () => {
          throw new Error("clean-up failed");
        }),
      ),
    ignores: /^at |node:|file:|^throw |^\^|^$/,
  },
  "handler rejects": {
    what: "the promise of the handler is rejected",
    program: () =>
      serve((server) =>
        process.on("SIGTERM", async () => {
          await new Promise((resolve) => server.close(resolve));
          throw new Error("clean-up failed");
        }),
      ),
    ignores: /^at |node:|file:|^throw |^\^|^$/,
  },
  "clean-up rejects, interval": {
    what: "the promise of the clean-up is rejected while an interval keeps the process",
    program: () =>
      serve((server) => {
        setInterval(() => {}, 100);
        process.on("SIGTERM", async () => {
          await new Promise((resolve) => server.close(resolve));
          throw new Error("clean-up failed");
        });
      }),
    ignores: /^at |node:|file:|^throw |^\^|^$/,
  },
  "uncaughtException, exit": {
    what: "an error while it closes, and a handler that logs it and exits with 1",
    program: () =>
      serve((server) => {
        process.on("uncaughtException", (error) => {
          say(`uncaught ${error.message}`);
          process.exit(1);
        });
        process.on("SIGTERM", () => {
          server.close();
          setTimeout(() => {
            throw new Error("late");
          }, 400);
        });
      }),
  },
  "unhandledRejection, exit": {
    what: "the same with an unhandled rejection",
    program: () =>
      serve((server) => {
        process.on("unhandledRejection", (error) => {
          say(`unhandled ${error.message}`);
          process.exit(1);
        });
        process.on("SIGTERM", () => {
          server.close();
          setTimeout(() => Promise.reject(new Error("late")), 400);
        });
      }),
  },
  "uncaughtException, go on": {
    what: "a handler that logs errors and goes on",
    program: () =>
      serve((server) => {
        process.on("uncaughtException", (error) => say(`uncaught ${error.message}`));
        process.on("SIGTERM", () => {
          server.close();
          setTimeout(() => {
            throw new Error("late");
          }, 400);
          setTimeout(() => process.exit(0), 2_800);
        });
      }),
  },
  "crash, orderly": {
    what: "an uncaught error while it serves: close, then exit with 1",
    client: "quit",
    signal: "none",
    program: () =>
      serve(
        (server) =>
          process.on("uncaughtException", (error) => {
            say(error.message);
            server.close(() => process.exit(1));
          }),
        crashing(),
      ),
  },
  "crash, no handler": {
    what: "an uncaught error while it serves",
    client: "quit",
    signal: "none",
    ignores: /^at |node:|file:|^throw |^\^|^$/,
    program: () => serve(undefined, crashing()),
  },
};

function crashing() {
  return createServer((request, response) => {
    work(request, response);
    if (request.url === "/quit")
      setTimeout(() => {
        throw new Error("crash");
      }, 20);
  });
}
