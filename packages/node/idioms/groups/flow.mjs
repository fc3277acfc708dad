/** Programs whose main flow ends after the signal. */
import { EventEmitter, on, once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { ready, say, serve, sleep } from "../app.mjs";

const job = async (number) => {
  for (let part = 0; part < 3; part++) await sleep(400);
  say(`job ${number > 3 ? "last" : "done"}`);
};
const closed = (server) => new Promise((resolve) => server.close(resolve));
/** The number of jobs differs from run to run. */
const jobs = /^job done$/;

export default {
  flag: {
    what: "a flag that a loop looks at; clean-up after the loop",
    isQuick: true,
    ignores: jobs,
    program: async () => {
      let isStopped = false;
      const server = await serve(() =>
        process.on("SIGTERM", () => {
          say("flag");
          isStopped = true;
        }),
      );
      while (!isStopped) await job(1);
      say("loop left");
      await sleep(500);
      say("cleaned up");
      server.close();
    },
  },
  "await once": {
    what: '`await once(process, "SIGTERM")`, then clean-up',
    program: async () => {
      const signal = once(process, "SIGTERM");
      const server = await serve();
      await signal;
      say("signal");
      await sleep(2_500);
      say("cleaned up");
      await closed(server);
      process.exit(0);
    },
  },
  "await a promise": {
    what: '`await new Promise((r) => process.once("SIGTERM", r))`, then clean-up',
    program: async () => {
      const server = await serve();
      await new Promise((resolve) => process.once("SIGTERM", resolve));
      await closed(server);
      say("server closed");
      await sleep(1_800);
      say("pool ended");
    },
  },
  "events.on": {
    what: '`for await (const _ of on(process, "SIGTERM"))`',
    program: async () => {
      const signals = on(process, "SIGTERM");
      const server = await serve();
      for await (const [name] of signals) {
        say(name);
        await sleep(2_000);
        say("cleaned up");
        break;
      }
      server.close(() => process.exit(0));
    },
  },
  AbortController: {
    what: "the handler aborts; work that listens to the AbortSignal cleans up",
    program: async () => {
      const stop = new AbortController();
      const server = await serve(() => process.on("SIGTERM", () => stop.abort()));
      await pause(1e8, undefined, { signal: stop.signal }).catch((error) => say(error.name));
      await sleep(2_000);
      say("cleaned up");
      server.close(() => process.exit(0));
    },
  },
  "event bus": {
    what: "the handler emits on a bus; others clean up",
    program: async () => {
      const bus = new EventEmitter();
      const server = await serve(() => process.on("SIGTERM", () => bus.emit("stop")));
      await new Promise((resolve) => bus.once("stop", resolve));
      await sleep(2_000);
      say("cleaned up");
      server.close(() => process.exit(0));
    },
  },
  "try, finally": {
    what: "the main function's `finally` closes what it opened",
    program: async () => {
      const { promise, resolve } = Promise.withResolvers();
      process.on("SIGTERM", resolve);
      const server = await serve();
      try {
        await promise;
      } finally {
        await sleep(800);
        say("consumer closed");
        await sleep(800);
        say("producer closed");
        await closed(server);
        say("server closed");
      }
    },
  },
  "loop that waits": {
    what: "a loop that sleeps between jobs and looks at a flag",
    ignores: jobs,
    program: async () => {
      let isRunning = true;
      process.once("SIGTERM", () => (isRunning = false));
      const server = await serve();
      while (isRunning) {
        await job(1);
        if (isRunning) await sleep(300);
      }
      say("left");
      await closed(server);
      say("closed");
    },
  },
  "interval cleared": {
    what: "an interval that is cleared; the job at work is waited for by a counter",
    ignores: jobs,
    program: async () => {
      let atWork = 0;
      const timer = setInterval(async () => {
        if (atWork > 0) return;
        atWork++;
        await job(1);
        atWork--;
      }, 100);
      await serve((server) =>
        process.on("SIGTERM", () => {
          clearInterval(timer);
          let isClosed = false;
          server.close(() => (isClosed = true));
          const poll = setInterval(() => {
            if (atWork > 0 || !isClosed) return;
            clearInterval(poll);
            say("idle");
            process.exit(0);
          }, 50);
        }),
      );
    },
  },
  "worker without a server": {
    what: "a loop without any server; the flag ends it",
    client: "none",
    ignores: jobs,
    onlyImport: true,
    program: async () => {
      let isStopped = false;
      process.on("SIGTERM", () => (isStopped = true));
      ready();
      while (!isStopped) await job(1);
      await sleep(1_200);
      say("cleaned up");
    },
  },
  "worker without server and handler": {
    what: "no server, no handler",
    client: "none",
    onlyImport: true,
    exitsAsIs: true,
    program: () => {
      setInterval(() => {}, 1_000);
      ready();
    },
  },
  "server that came late": {
    what: "the handler is there before the server listens, which takes a second",
    program: async () => {
      let server;
      process.on("SIGTERM", () => server?.close(() => say("closed")));
      await sleep(700);
      server = await serve();
    },
  },
  "top-level await using": {
    what: "`await using` closes the server at the end of the scope",
    node: 24,
    command: ["node", "fixtures/using.mjs"],
  },
};
