import type { FastifyPluginCallback } from "fastify";
import { Lameduck } from "./lameduck.ts";
import type { LameduckOptions } from "./options/lameduck-options.ts";

declare module "fastify" {
  interface FastifyInstance {
    lameduck: Lameduck;
  }
}

/**
 * `app.register(lameduckPlugin, options)`: the same as `lameduck(app.server, options)`, with the handle as `app.lameduck`. Fastify's own
 * close() resets pooled connections, so it comes last, for the sake of the onClose hooks.
 */
export const lameduckPlugin: FastifyPluginCallback<LameduckOptions> = Object.assign(
  function lameduckPlugin(
    app: Parameters<FastifyPluginCallback>[0],
    options: LameduckOptions,
    done: (error?: Error) => void,
  ): void {
    let duck: Lameduck;
    try {
      duck = new Lameduck([app.server], options);
    } catch (error) {
      return done(error as Error);
    }
    duck.hook("closed", "fastify", async () => {
      await app.close();
    });
    app.decorate("lameduck", duck);
    // Closed by its owner, as in tests, the application has nothing to do with signals any more.
    app.addHook("onClose", async () => {
      if (duck.phase === "serving") duck.detach();
    });
    done();
  },
  {
    // What fastify-plugin would say: the decoration is for the whole application.
    [Symbol.for("skip-override")]: true,
    [Symbol.for("fastify.display-name")]: "@lameduck/node",
    [Symbol.for("plugin-meta")]: { name: "@lameduck/node", fastify: ">=5" },
  },
);
