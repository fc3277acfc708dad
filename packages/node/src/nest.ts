import type { DynamicModule, OnApplicationBootstrap, OnApplicationShutdown } from "@nestjs/common";
import { HttpAdapterHost } from "@nestjs/core";
import { Lameduck } from "./lameduck.ts";
import type { WatchedServer } from "./servers/servers.ts";
import type { LameduckOptions } from "./options/lameduck-options.ts";

/**
 * `imports: [LameduckModule.forRoot(options)]`: the same as `lameduck(app.getHttpServer(), options)`; the handle is injected as
 * `Lameduck`. Shutdown hooks of the application run after the hold, where `app.enableShutdownHooks()` was called.
 */
// oxlint-disable-next-line typescript/no-extraneous-class -- a module of Nest is a class
export class LameduckModule {
  /** @throws {LameduckError} when the application is created, for a wrong option or environment variable. */
  static forRoot(options: LameduckOptions = {}): DynamicModule {
    return {
      module: LameduckModule,
      global: true,
      providers: [
        { provide: Lameduck, useFactory: () => new Lameduck([], options) },
        {
          provide: LameduckModule,
          inject: [Lameduck, HttpAdapterHost],
          useFactory: (duck: Lameduck, host: HttpAdapterHost) => new Attachment(duck, host),
        },
      ],
      exports: [Lameduck],
    };
  }
}

/** Nest makes the server after the providers and before their bootstrap. */
class Attachment implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #duck: Lameduck;
  readonly #host: HttpAdapterHost;

  constructor(duck: Lameduck, host: HttpAdapterHost) {
    this.#duck = duck;
    this.#host = host;
  }

  onApplicationBootstrap(): void {
    // There is none in a standalone application or one of microservices only, though the type says otherwise.
    const server = (this.#host.httpAdapter as HttpAdapterHost["httpAdapter"] | undefined)?.getHttpServer() as
      | WatchedServer
      | undefined;
    if (server) this.#duck.add(server);
  }

  /** Closed by its owner, as in tests, the application has nothing to do with signals any more. */
  onApplicationShutdown(): void {
    if (this.#duck.phase === "serving") this.#duck.detach();
  }
}

export { Lameduck };
