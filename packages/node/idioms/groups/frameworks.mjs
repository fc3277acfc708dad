/** Frameworks, and what they run at their end. */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { attach, attachAll, listening, ready, say, serve, sleep, work } from "../app.mjs";

const require = createRequire(import.meta.url);
const answerLate = async (query) => {
  await sleep(Number(query.ms ?? 0));
  return "ok";
};

export default {
  express: {
    what: "`app.listen()`, `server.close()`",
    needs: ["express"],
    program: async () => {
      const express = require("express");
      const app = express();
      app.use(async (request, response) => response.send(await answerLate(request.query)));
      const server = app.listen(0, "127.0.0.1", () => {
        attach(server);
        process.on("SIGTERM", () => server.close(() => say("closed")));
        ready(server.address().port);
      });
    },
  },
  "express, express-graceful-exit": {
    what: "`gracefulExitHandler()`",
    needs: ["express", "express-graceful-exit"],
    program: async () => {
      const express = require("express");
      const { gracefulExitHandler, init, middleware } = require("express-graceful-exit");
      const app = express();
      app.use(middleware(app));
      app.use(async (request, response) => response.send(await answerLate(request.query)));
      await serve((server) => {
        init(server);
        process.on("SIGTERM", () =>
          gracefulExitHandler(app, server, {
            suicideTimeout: 5_000,
            callback: (code) => say(`code ${code}`),
            log: false,
          }),
        );
      }, createServer(app));
    },
  },
  koa: {
    what: "`http.createServer(app.callback())`",
    needs: ["koa"],
    program: async () => {
      const Koa = require("koa");
      const app = new Koa();
      app.use(async (context) => (context.body = await answerLate(context.query)));
      await serve(
        (server) => process.on("SIGTERM", () => server.close(() => say("closed"))),
        createServer(app.callback()),
      );
    },
  },
  hono: {
    what: "`serve()` of `@hono/node-server`",
    needs: ["hono", "@hono/node-server"],
    program: async () => {
      const { Hono } = await import("hono");
      const { serve: serveHono } = await import("@hono/node-server");
      const app = new Hono();
      app.all("*", async (context) => context.text(await answerLate(context.req.query())));
      const server = serveHono({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => {
        attach(server);
        process.on("SIGTERM", () => {
          server.close((error) => {
            if (error) process.exit(1);
            say("closed");
            process.exit(0);
          });
        });
        ready(port);
      });
    },
  },
  hapi: { what: "`server.stop({ timeout })`", needs: ["@hapi/hapi"], program: () => hapi(0) },
  "hapi, after a sleep": {
    what: "`server.stop()` after a sleep",
    needs: ["@hapi/hapi"],
    program: () => hapi(1_800),
  },
  fastify: {
    what: "`await app.close()`, with `onClose` hooks",
    isQuick: true,
    program: () =>
      fastify((app) =>
        process.on("SIGTERM", async () => {
          await app.close();
          say("app closed");
          process.exit(0);
        }),
      ),
  },
  "fastify, after a sleep": {
    what: "`app.close()` after a sleep",
    program: () =>
      fastify((app) =>
        process.on("SIGTERM", async () => {
          await sleep(1_800);
          await app.close();
          say("app closed");
          process.exit(0);
        }),
      ),
  },
  "fastify, once for each signal": {
    what: "`process.once`, `app.close()`, no exit",
    program: () =>
      fastify((app) => {
        for (const signal of ["SIGINT", "SIGTERM"])
          process.once(signal, () => void app.close().catch(() => (process.exitCode = 1)));
      }),
  },
  "fastify, fastify-graceful-shutdown": {
    what: "the plugin",
    needs: ["fastify-graceful-shutdown"],
    ignores: /graceful|Triggering|signal/i,
    program: () =>
      fastify(async (app) => {
        await app.register(require("fastify-graceful-shutdown"), { timeout: 5_000 });
        app.after(() => app.gracefulShutdown?.(async () => say("handler")));
      }, true),
  },
  "fastify, close-with-grace": {
    what: "`closeWithGrace()` and `app.close()`, as its generator writes it",
    needs: ["close-with-grace"],
    program: () =>
      fastify(async (app) => {
        const { default: closeWithGrace } = await import("close-with-grace");
        const listeners = closeWithGrace({ delay: 4_000, logger: false }, async () => app.close());
        app.addHook("onClose", async () => listeners.uninstall());
      }, true),
  },
  "nest, enableShutdownHooks": {
    what: "`OnModuleDestroy`, `BeforeApplicationShutdown`, `OnApplicationShutdown`",
    exitsAsIs: true,
    program: () => nest(0),
  },
  "nest, slow beforeApplicationShutdown": {
    what: "the same, which waits for senders in `beforeApplicationShutdown`",
    exitsAsIs: true,
    program: () => nest(1_800),
  },
  "nest, no hooks": {
    what: "no `enableShutdownHooks()`, a handler that calls `app.close()`",
    program: () => nest(0, true),
  },
  "apollo, standalone": {
    what: "`startStandaloneServer()`, which stops on SIGTERM by itself",
    needs: ["@apollo/server", "graphql"],
    client: "graphql",
    exitsAsIs: true,
    program: async () => {
      const { ApolloServer } = require("@apollo/server");
      const { startStandaloneServer } = require("@apollo/server/standalone");
      attachAll();
      const { url } = await startStandaloneServer(apollo(ApolloServer), {
        listen: { port: 0, host: "127.0.0.1" },
      });
      ready(new URL(url).port);
    },
  },
  "apollo, drain plugin": {
    what: "`ApolloServerPluginDrainHttpServer`, `server.stop()` in a handler",
    needs: ["@apollo/server", "graphql"],
    client: "graphql",
    program: async () => {
      const { ApolloServer, HeaderMap } = require("@apollo/server");
      const { ApolloServerPluginDrainHttpServer } = require("@apollo/server/plugin/drainHttpServer");
      let server;
      const http = createServer(async (request, response) => {
        const chunks = await request.toArray();
        const headers = new HeaderMap(Object.entries(request.headers));
        const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : {};
        const { search } = new URL(request.url, "http://here");
        const answer = await server.executeHTTPGraphQLRequest({
          httpGraphQLRequest: { method: request.method, headers, body, search },
          context: async () => ({}),
        });
        response.writeHead(answer.status ?? 200, Object.fromEntries(answer.headers));
        response.end(answer.body.string);
      });
      server = apollo(ApolloServer, [ApolloServerPluginDrainHttpServer({ httpServer: http })], false);
      await server.start();
      await serve(
        () =>
          process.once("SIGTERM", async () => {
            await server.stop();
            say("stopped");
          }),
        http,
      );
    },
  },
};

function apollo(ApolloServer, plugins = [], stopOnTerminationSignals = true) {
  const ending = { serverWillStart: async () => ({ serverWillStop: async () => say("serverWillStop") }) };
  return new ApolloServer({
    typeDefs: "type Query { late(ms: Int): String }",
    resolvers: { Query: { late: (_parent, query) => answerLate(query) } },
    plugins: [ending, ...plugins],
    stopOnTerminationSignals,
  });
}

async function hapi(delayMs) {
  const { server: create } = require("@hapi/hapi");
  const server = create({ port: 0, host: "127.0.0.1" });
  server.route({ method: "*", path: "/{any*}", handler: ({ query }) => answerLate(query) });
  server.ext("onPostStop", async () => say("onPostStop"));
  attach(server.listener);
  await server.start();
  process.on("SIGTERM", async () => {
    await sleep(delayMs);
    try {
      await server.stop({ timeout: 5_000 });
      say("stopped");
      process.exit(0);
    } catch (error) {
      say(`failed ${error.code}`);
      process.exit(1);
    }
  });
  ready(server.info.port);
}

async function fastify(handlers, isBefore = false) {
  const { default: create } = await import("fastify");
  const app = create({ forceCloseConnections: "idle" });
  app.addHook("onClose", async () => {
    await sleep(200);
    say("onClose");
  });
  app.addHook("preClose", async () => say("preClose"));
  if (isBefore) await handlers(app);
  app.all("/*", async (request) => answerLate(request.query));
  attach(app.server);
  await app.listen({ port: 0, host: "127.0.0.1" });
  if (!isBefore) await handlers(app);
  ready(app.server.address().port);
}

async function nest(delayMs, hasOwnHandler = false) {
  require("reflect-metadata");
  const { Module } = require("@nestjs/common");
  const { NestFactory } = require("@nestjs/core");
  const hooks = {
    onModuleDestroy: () => say("onModuleDestroy"),
    beforeApplicationShutdown: async () => {
      await sleep(delayMs);
      say("beforeApplicationShutdown");
    },
    onApplicationShutdown: async () => {
      await sleep(300);
      say("onApplicationShutdown");
    },
  };
  class App {}
  Module({ providers: [{ provide: "hooks", useValue: hooks }] })(App);
  const app = await NestFactory.create(App, { logger: false });
  app.use(async (request, response) => response.end(await answerLate(request.query)));
  if (!hasOwnHandler) app.enableShutdownHooks();
  attach(app.getHttpServer());
  await app.listen(0, "127.0.0.1");
  if (hasOwnHandler)
    process.on("SIGTERM", async () => {
      await app.close();
      process.exit(0);
    });
  ready(app.getHttpServer().address().port);
}
