/**
 * Each library as its own documentation attaches it. `delay` is how long it is to go on serving after SIGTERM: by its own option
 * where it has one, else by hand; undefined leaves everything at its default. The last argument says what surrounds it
 * (libraries.d.mts).
 */
import { setTimeout as sleep } from "node:timers/promises";

/** For libraries that leave the signal to their user. */
function atSigterm(delay, close) {
  process.on("SIGTERM", () => {
    void sleep(delay ?? 0)
      .then(close)
      .then(() => process.exit(0));
  });
}

const closed = (server) => new Promise((resolve) => server.close(resolve));

const surrounded = (
  server,
  { close = () => closed(server), plenty = 20_000, inKubernetes = false } = {},
) => ({
  close,
  plenty,
  inKubernetes,
});

export const libraries = {
  bare: () => {},
  "bare again": () => {},
  lameduck: async (server) => {
    const { lameduck, lameduckAll } = await import("@lameduck/node");
    if (server === undefined) lameduckAll();
    else lameduck(server);
  },
  "server.close": (server, delay, around) => atSigterm(delay, surrounded(server, around).close),
  terminus: async (server, delay, around) => {
    const { plenty } = surrounded(server, around);
    const { createTerminus } = (await import("@godaddy/terminus")).default;
    const best = delay === undefined ? {} : { timeout: plenty, beforeShutdown: () => sleep(delay) };
    createTerminus(server, { signal: "SIGTERM", useExit0: true, ...best });
  },
  lightship: async (server, delay, around) => {
    const { close, plenty, inKubernetes } = surrounded(server, around);
    const { createLightship } = await import("lightship");
    const best = delay === undefined ? {} : { shutdownDelay: delay, shutdownHandlerTimeout: plenty };
    const lightship = await createLightship({ port: 0, detectKubernetes: inKubernetes, ...best });
    lightship.registerShutdownHandler(close);
    lightship.signalReady();
  },
  "http-terminator": async (server, delay, around) => {
    const { plenty } = surrounded(server, around);
    const { createHttpTerminator } = (await import("http-terminator")).default;
    const best = delay === undefined ? {} : { gracefulTerminationTimeout: plenty };
    const terminator = createHttpTerminator({ server, ...best });
    atSigterm(delay, () => terminator.terminate());
  },
  stoppable: async (server, delay, around) => {
    const { plenty } = surrounded(server, around);
    const { default: stoppable } = await import("stoppable");
    stoppable(server, delay === undefined ? undefined : plenty);
    atSigterm(delay, () => new Promise((resolve) => server.stop(resolve)));
  },
  "http-graceful-shutdown": async (server, delay, around) => {
    const { plenty } = surrounded(server, around);
    const { default: gracefulShutdown } = await import("http-graceful-shutdown");
    gracefulShutdown(server, delay === undefined ? {} : { preShutdown: () => sleep(delay), timeout: plenty });
  },
  "close-with-grace": async (server, delay, around) => {
    const { close, plenty } = surrounded(server, around);
    const { default: closeWithGrace } = await import("close-with-grace");
    closeWithGrace({ delay: delay === undefined ? 10_000 : plenty }, async () => {
      await sleep(delay ?? 0);
      await close();
    });
  },
};
