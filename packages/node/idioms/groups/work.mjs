/** Queues, pools, timers, threads and processes beside the server, or instead of it. */
import { createRequire } from "node:module";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { attach, isInCode, ready, say, serve, sleep } from "../app.mjs";

const require = createRequire(import.meta.url);
const closed = (server) => new Promise((resolve) => server.close(resolve));

export default {
  fastq: {
    what: "a queue that is drained in the handler",
    needs: ["fastq"],
    program: async () => {
      const queue = require("fastq").promise(async () => sleep(500), 1);
      for (let number = 0; number < 5; number++) void queue.push(number).then(() => say(`job ${number < 9}`));
      await serve((server) =>
        process.on("SIGTERM", async () => {
          await Promise.all([closed(server), queue.drained()]);
          say("drained");
          process.exit(0);
        }),
      );
    },
    ignores: /^job/,
  },
  "p-queue": {
    what: "`await queue.onIdle()`",
    needs: ["p-queue"],
    program: async () => {
      const { default: Queue } = await import("p-queue");
      const queue = new Queue({ concurrency: 1 });
      for (let number = 0; number < 6; number++) void queue.add(() => sleep(600));
      await serve((server) =>
        process.on("SIGTERM", async () => {
          await closed(server);
          await queue.onIdle();
          say("idle");
          process.exit(0);
        }),
      );
    },
  },
  "p-queue, no exit": {
    what: "the queue is left to finish; the event loop runs empty",
    needs: ["p-queue"],
    program: async () => {
      const { default: Queue } = await import("p-queue");
      const queue = new Queue({ concurrency: 1 });
      for (let number = 0; number < 7; number++) void queue.add(() => sleep(600));
      void queue.add(() => say("last job done"));
      await serve((server) => process.on("SIGTERM", () => server.close()));
    },
  },
  "generic-pool": {
    what: "`pool.drain()`, `pool.clear()` after the server's close",
    needs: ["generic-pool"],
    program: async () => {
      const pool = require("generic-pool").createPool(
        {
          create: async () => ({}),
          destroy: async () => {
            await sleep(300);
            say("connection closed");
          },
        },
        { min: 2, max: 2 },
      );
      await pool.ready();
      await serve((server) =>
        process.on("SIGTERM", () => {
          server.close(async () => {
            await pool.drain();
            await pool.clear();
            say("pool cleared");
          });
        }),
      );
    },
  },
  "pg pool": {
    what: "`await pool.end()`",
    needs: ["pg"],
    program: async () => {
      const { Pool } = require("pg");
      const pool = new Pool({ host: "127.0.0.1", port: 9 });
      await serve((server) =>
        process.on("SIGTERM", async () => {
          await closed(server);
          await pool.end();
          say(`ended ${pool.ended}`);
          process.exit(0);
        }),
      );
    },
  },
  ioredis: {
    what: "`redis.disconnect()` of a client that is connecting again",
    needs: ["ioredis"],
    program: async () => {
      const { Redis } = require("ioredis");
      const redis = new Redis({ port: 9, host: "127.0.0.1", retryStrategy: () => 200 });
      redis.on("error", () => {});
      redis.on("end", () => say("redis ended"));
      await serve((server) =>
        process.on("SIGTERM", () => {
          server.close(() => redis.disconnect());
        }),
      );
    },
  },
  "node-cron": {
    what: "`task.stop()`",
    needs: ["node-cron"],
    program: async () => {
      const cron = require("node-cron");
      const task = cron.schedule("* * * * * *", () => {});
      await serve((server) =>
        process.on("SIGTERM", async () => {
          await task.stop();
          say("cron stopped");
          server.close();
        }),
      );
    },
  },
  "consumer without a server": {
    what: "a queue's consumer: the job at work is finished, then exit",
    client: "none",
    onlyImport: true,
    program: async () => {
      let isClosing = false;
      let current = sleep(1_500).then(() => say("job done"));
      process.on("SIGTERM", async () => {
        isClosing = true;
        say("closing");
        await current;
        process.exit(0);
      });
      ready();
      while (!isClosing) {
        await current;
        if (!isClosing) current = sleep(100);
      }
      await sleep(5_000);
    },
  },
  "consumer with health checks": {
    what: "the same beside a server that nobody but probes asks",
    client: "health",
    holds: false,
    program: async () => {
      let isClosing = false;
      const current = sleep(2_500).then(() => say("job done"));
      await serve((server) =>
        process.on("SIGTERM", () => {
          isClosing = true;
          server.close();
        }),
      );
      await current;
      while (!isClosing) await sleep(50);
      await sleep(1_500);
      say("acknowledged");
    },
  },
  "prom-client": {
    what: "a metrics server beside the API; both are closed",
    needs: ["prom-client"],
    program: async () => {
      const { createServer } = await import("node:http");
      const { listening, work } = await import("../app.mjs");
      const { collectDefaultMetrics, register } = require("prom-client");
      collectDefaultMetrics();
      const [api, metrics] = [
        createServer(work),
        createServer(async (_request, response) => response.end(await register.metrics())),
      ];
      attach(api, metrics);
      const port = await listening(api);
      await listening(metrics);
      process.on("SIGTERM", () => {
        api.close(() => {
          say("api closed");
          metrics.close(() => say("metrics closed"));
        });
      });
      ready(port);
    },
  },
  "worker thread": {
    what: "a message to a thread that finishes its work, then `terminate()`",
    program: async () => {
      const worker = new Worker(new URL("../fixtures/thread.mjs", import.meta.url));
      await once(worker, "message");
      await serve((server) =>
        process.on("SIGTERM", async () => {
          worker.postMessage("stop");
          const [message] = await once(worker, "message");
          say(message);
          await closed(server);
          await worker.terminate();
          say("terminated");
        }),
      );
    },
  },
  piscina: {
    what: "`await pool.close()` lets tasks finish",
    needs: ["piscina"],
    program: async () => {
      const { Piscina } = require("piscina");
      const pool = new Piscina({
        filename: new URL("../fixtures/task.mjs", import.meta.url).href,
        maxThreads: 1,
      });
      void pool.run(2_600).then(() => say("task done"));
      await serve((server) =>
        process.on("SIGTERM", async () => {
          await closed(server);
          await pool.close();
          say("pool closed");
        }),
      );
    },
  },
  "forked helper": {
    what: "`fork()`, a message to stop, the child's exit is waited for",
    program: async () => {
      const { fork } = await import("node:child_process");
      const helper = fork(new URL("../fixtures/helper.mjs", import.meta.url));
      await once(helper, "message");
      await serve((server) =>
        process.on("SIGTERM", async () => {
          await closed(server);
          helper.send("stop");
          const [code] = await once(helper, "exit");
          say(`helper ${code}`);
          process.exit(0);
        }),
      );
    },
  },
  "spawned helper, killed": {
    what: "the helper gets SIGTERM in the handler; its exit is waited for",
    program: async () => {
      const { spawn } = await import("node:child_process");
      const helper = spawn("sleep", ["60"], { stdio: "ignore" });
      await serve((server) =>
        process.on("SIGTERM", () => {
          server.close();
          helper.kill("SIGTERM");
          helper.once("exit", (_code, signal) => say(`helper ${signal}`));
        }),
      );
    },
  },
  "helper with a server, replaced": {
    what: "a child with a server of its own is replaced while the program serves",
    client: "replacing",
    holds: false,
    exitsAsIs: true,
    onlyImport: true,
    command: ["node", "fixtures/replacing.mjs"],
  },
  "helper with a server, at the end": {
    what: "a child with a server of its own gets SIGTERM from its parent's handler",
    program: async () => {
      const { fork } = await import("node:child_process");
      const helper = fork(new URL("../fixtures/helper.mjs", import.meta.url), ["server"]);
      await once(helper, "message");
      await serve((server) =>
        process.on("SIGTERM", async () => {
          await closed(server);
          helper.kill("SIGTERM");
          await once(helper, "exit");
          say("helper ended");
          process.exit(0);
        }),
      );
    },
  },
  "server in a helper": {
    what: "the parent has no server: it passes the signal to the child that has one",
    exitsAsIs: true,
    command: ["node", "fixtures/launcher.mjs"],
  },
  "server in a helper, the group": {
    what: "the same, and the signal goes to the whole group",
    exitsAsIs: true,
    toGroup: true,
    command: ["node", "fixtures/launcher.mjs"],
  },
  "duck.busy": {
    what: "in code the job is told to Lameduck; without it the handler waits",
    program: async () => {
      const { promise, resolve } = Promise.withResolvers();
      const { createServer } = await import("node:http");
      const { listening, work } = await import("../app.mjs");
      const server = createServer(work);
      const duck = attach(server);
      const lease = duck?.busy();
      void sleep(3_000).then(() => {
        say("job done");
        lease?.[Symbol.dispose]();
        resolve();
      });
      if (!isInCode)
        process.on("SIGTERM", async () => {
          await Promise.all([promise, closed(server)]);
          process.exit(0);
        });
      ready(await listening(server));
    },
  },
};
