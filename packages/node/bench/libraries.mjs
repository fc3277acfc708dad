/**
 * Each library as its own documentation attaches it. `delay` is how long it is to go on serving after SIGTERM: by its own option
 * where it has one, else by hand; undefined leaves everything at its default.
 */
import { setTimeout as sleep } from "node:timers/promises";

const plenty = 20_000;

/** For libraries that leave the signal to their user. */
function atSigterm(delay, close) {
  process.on("SIGTERM", () => {
    void sleep(delay ?? 0)
      .then(close)
      .then(() => process.exit(0));
  });
}

const closed = (server) => new Promise((resolve) => server.close(resolve));

export const libraries = {
  bare: () => {},
  "bare again": () => {},
  lameduck: async (server) => {
    const { lameduck } = await import("@lameduck/node");
    lameduck(server);
  },
  "server.close": (server, delay) => atSigterm(delay, () => closed(server)),
  terminus: async (server, delay) => {
    const { createTerminus } = (await import("@godaddy/terminus")).default;
    const best = delay === undefined ? {} : { timeout: plenty, beforeShutdown: () => sleep(delay) };
    createTerminus(server, { signal: "SIGTERM", useExit0: true, ...best });
  },
  lightship: async (server, delay) => {
    const { createLightship } = await import("lightship");
    const best = delay === undefined ? {} : { shutdownDelay: delay, shutdownHandlerTimeout: plenty };
    const lightship = await createLightship({ port: 0, detectKubernetes: false, ...best });
    lightship.registerShutdownHandler(() => closed(server));
    lightship.signalReady();
  },
  "http-terminator": async (server, delay) => {
    const { createHttpTerminator } = (await import("http-terminator")).default;
    const best = delay === undefined ? {} : { gracefulTerminationTimeout: plenty };
    const terminator = createHttpTerminator({ server, ...best });
    atSigterm(delay, () => terminator.terminate());
  },
  stoppable: async (server, delay) => {
    const { default: stoppable } = await import("stoppable");
    stoppable(server, delay === undefined ? undefined : plenty);
    atSigterm(delay, () => new Promise((resolve) => server.stop(resolve)));
  },
  "http-graceful-shutdown": async (server, delay) => {
    const { default: gracefulShutdown } = await import("http-graceful-shutdown");
    gracefulShutdown(server, delay === undefined ? {} : { preShutdown: () => sleep(delay), timeout: plenty });
  },
  "close-with-grace": async (server, delay) => {
    const { default: closeWithGrace } = await import("close-with-grace");
    closeWithGrace({ delay: delay === undefined ? 10_000 : plenty }, async () => {
      await sleep(delay ?? 0);
      await closed(server);
    });
  },
};
