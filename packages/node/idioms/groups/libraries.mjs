/** Packages for shutting down, each as its own documentation uses it. */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { say, serve, sleep, work } from "../app.mjs";

const require = createRequire(import.meta.url);
const closed = (server) =>
  new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve())));

export default {
  "signal-exit": {
    what: "`onExit()` with synchronous clean-up",
    needs: ["signal-exit"],
    exitsAsIs: true,
    program: () =>
      serve(async () => {
        const { onExit } = await import("signal-exit");
        onExit((code, signal) => say(`exit ${code} ${signal}`));
      }),
  },
  "signal-exit and a handler": {
    what: "`onExit()` beside the program's own `close()`",
    needs: ["signal-exit"],
    program: () =>
      serve(async (server) => {
        const { onExit } = await import("signal-exit");
        onExit((code, signal) => say(`exit ${code} ${signal}`));
        process.on("SIGTERM", () => server.close(() => process.exit(0)));
      }),
  },
  "when-exit": {
    what: "`whenExit()` with synchronous clean-up",
    needs: ["when-exit"],
    exitsAsIs: true,
    program: () =>
      serve(async () => {
        const { default: whenExit } = await import("when-exit");
        whenExit(() => say("exit"));
      }),
  },
  "exit-hook": {
    what: "`exitHook()` with synchronous clean-up",
    needs: ["exit-hook"],
    exitsAsIs: true,
    program: () =>
      serve(async () => {
        const { default: exitHook } = await import("exit-hook");
        exitHook((signal) => say(`exit ${signal}`));
      }),
  },
  "exit-hook, asynchronous": {
    what: "`asyncExitHook()` closes the server and a pool",
    needs: ["exit-hook"],
    exitsAsIs: true,
    program: () =>
      serve(async (server) => {
        const { asyncExitHook } = await import("exit-hook");
        asyncExitHook(
          async () => {
            await closed(server);
            await sleep(300);
            say("pool ended");
          },
          { wait: 4_000 },
        );
      }),
  },
  "async-exit-hook": {
    what: "a hook with a callback",
    needs: ["async-exit-hook"],
    exitsAsIs: true,
    program: () =>
      serve((server) => {
        const exitHook = require("async-exit-hook");
        exitHook((done) => {
          server.close(() => {
            say("closed");
            setTimeout(done, 200);
          });
        });
      }),
  },
  "node-graceful-shutdown": {
    what: "`onShutdown()` with dependencies",
    needs: ["node-graceful-shutdown"],
    program: () =>
      serve(async (server) => {
        const { onShutdown } = require("node-graceful-shutdown");
        onShutdown("http", async () => {
          await closed(server);
          say("http closed");
        });
        onShutdown("database", ["http"], async () => {
          await sleep(400);
          say("database closed");
        });
      }),
  },
  death: {
    what: "`ON_DEATH()`",
    needs: ["death"],
    program: () =>
      serve((server) => {
        const onDeath = require("death");
        onDeath((signal) => {
          say(signal);
          server.close(() => process.exit());
        });
      }),
  },
  "node-cleanup": {
    what: "asynchronous clean-up, `uninstall()`, the signal again",
    needs: ["node-cleanup"],
    exitsAsIs: true,
    program: () =>
      serve((server) => {
        const nodeCleanup = require("node-cleanup");
        nodeCleanup((_code, signal) => {
          if (!signal) return true;
          server.close(() => {
            say("clean-up");
            process.kill(process.pid, signal);
          });
          nodeCleanup.uninstall();
          return false;
        });
      }),
  },
  terminus: {
    what: "`createTerminus()` with `onSignal` and `onShutdown`",
    needs: ["@godaddy/terminus"],
    exitsAsIs: true,
    program: () => serve(terminus({})),
  },
  "terminus, beforeShutdown": {
    what: "the same, which waits in `beforeShutdown`",
    needs: ["@godaddy/terminus"],
    exitsAsIs: true,
    program: () => serve(terminus({ beforeShutdown: () => sleep(1_800) })),
  },
  "terminus, useExit0": {
    what: "the same with signals in a list, health checks and `useExit0`",
    needs: ["@godaddy/terminus"],
    program: () =>
      serve(
        terminus({
          signal: undefined,
          signals: ["SIGTERM", "SIGINT"],
          useExit0: true,
          healthChecks: { "/healthz": async () => "fine" },
        }),
      ),
  },
  lightship: {
    what: "`registerShutdownHandler()`",
    needs: ["lightship"],
    program: () => serve(lightship({})),
  },
  "lightship, shutdownDelay": {
    what: "the same with `shutdownDelay`",
    needs: ["lightship"],
    program: () => serve(lightship({ shutdownDelay: 1_800 })),
  },
  stoppable: {
    what: "`stop()` in a handler",
    needs: ["stoppable"],
    program: () =>
      serve(
        (server) =>
          process.on("SIGTERM", () => {
            server.stop((error, isGraceful) => {
              say(`stopped ${error?.code} ${isGraceful}`);
              process.exit(error ? 1 : 0);
            });
          }),
        require("stoppable")(createServer(work), 4_000),
      ),
  },
  "stoppable, after a sleep": {
    what: "`stop()` after a sleep",
    needs: ["stoppable"],
    program: () =>
      serve(
        (server) =>
          process.on("SIGTERM", async () => {
            await sleep(1_800);
            server.stop((error) => {
              say(`stopped ${error?.code}`);
              process.exit(error ? 1 : 0);
            });
          }),
        require("stoppable")(createServer(work), 4_000),
      ),
  },
  "http-terminator": {
    what: "`await terminate()` in a handler",
    needs: ["http-terminator"],
    program: () => serve(httpTerminator(0)),
  },
  "http-terminator, after a sleep": {
    what: "`await terminate()` after a sleep",
    needs: ["http-terminator"],
    program: () => serve(httpTerminator(1_800)),
  },
  "http-graceful-shutdown": {
    what: "`onShutdown` and `finally`",
    needs: ["http-graceful-shutdown"],
    program: () => serve(httpGracefulShutdown({})),
  },
  "http-graceful-shutdown, preShutdown": {
    what: "the same, which waits in `preShutdown`",
    needs: ["http-graceful-shutdown"],
    program: () => serve(httpGracefulShutdown({ preShutdown: () => sleep(1_800) })),
  },
  "http-close": {
    what: "`httpClose()` makes `close()` end idle connections",
    needs: ["http-close"],
    program: () =>
      serve((server) => {
        require("http-close")({ timeout: 4_000 }, server);
        process.on("SIGTERM", () => server.close(() => say("closed")));
      }),
  },
  "http-shutdown": {
    what: "`server.shutdown()` in a handler",
    needs: ["http-shutdown"],
    program: () =>
      serve((server) => {
        require("http-shutdown")(server);
        process.on("SIGTERM", () => server.shutdown((error) => say(`shut down ${error?.code}`)));
      }),
  },
  "server-destroy": {
    what: "`server.destroy()` in a handler",
    needs: ["server-destroy"],
    program: () =>
      serve((server) => {
        require("server-destroy")(server);
        process.on("SIGTERM", () => server.destroy(() => say("destroyed")));
      }),
  },
  killable: {
    what: "`server.kill()` in a handler",
    needs: ["killable"],
    program: () =>
      serve((server) => {
        require("killable")(server);
        process.on("SIGTERM", () => server.kill(() => say("killed")));
      }),
  },
  "close-with-grace": {
    what: "`closeWithGrace()`",
    needs: ["close-with-grace"],
    program: () =>
      serve(async (server) => {
        const { default: closeWithGrace } = await import("close-with-grace");
        closeWithGrace({ delay: 4_000, logger: false }, async ({ signal }) => {
          say(signal);
          await closed(server);
          say("closed");
        });
      }),
  },
  "close-with-grace, SIGINT": {
    what: "the same at SIGINT",
    signal: "SIGINT",
    needs: ["close-with-grace"],
    program: () =>
      serve(async (server) => {
        const { default: closeWithGrace } = await import("close-with-grace");
        closeWithGrace({ delay: 4_000, logger: false }, async ({ signal }) => {
          say(signal);
          await closed(server);
        });
      }),
  },
};

const terminus = (more) => async (server) => {
  const { createTerminus } = require("@godaddy/terminus");
  createTerminus(server, {
    signal: "SIGTERM",
    timeout: 4_000,
    onSignal: async () => {
      await sleep(200);
      say("onSignal");
    },
    onShutdown: async () => say("onShutdown"),
    logger: (message, error) => say(`${message} ${error?.code}`),
    ...more,
  });
};

const lightship = (more) => async (server) => {
  const { createLightship } = await import("lightship");
  const ship = await createLightship({
    port: 0,
    detectKubernetes: true,
    shutdownHandlerTimeout: 4_000,
    ...more,
  });
  ship.registerShutdownHandler(async () => {
    await closed(server);
    say("closed");
  });
  ship.signalReady();
};

const httpTerminator = (delayMs) => (server) => {
  const { createHttpTerminator } = require("http-terminator");
  const terminator = createHttpTerminator({ server, gracefulTerminationTimeout: 4_000 });
  process.on("SIGTERM", async () => {
    await sleep(delayMs);
    try {
      await terminator.terminate();
      say("terminated");
      process.exit(0);
    } catch (error) {
      say(`failed ${error.code}`);
      process.exit(1);
    }
  });
};

const httpGracefulShutdown = (more) => (server) => {
  require("http-graceful-shutdown")(server, {
    timeout: 5_000,
    onShutdown: async (signal) => say(`onShutdown ${signal}`),
    finally: () => say("finally"),
    ...more,
  });
};
