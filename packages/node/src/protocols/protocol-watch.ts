import type { Server as NetServer } from "node:net";
import { closeListener } from "../closing/listener.ts";
import type { WatchContext } from "../servers/traffic.ts";

/** What the watches of all protocols have in common: the server, its counts, and where they are reported. */
export abstract class ProtocolWatch<S extends NetServer> {
  protected readonly server: S;
  protected readonly context: WatchContext;
  protected holding = false;
  protected stoppedAt = Infinity;
  protected isClosedByUs = false;
  accepted = 0;

  constructor(server: S, context: WatchContext) {
    this.server = server;
    this.context = context;
  }

  get listeners(): readonly NetServer[] {
    return [this.server];
  }

  get listening(): boolean {
    return this.server.listening;
  }

  hold(): void {
    this.holding = true;
  }

  beforeHandlers(): void {}

  stopListening(): void {
    this.stoppedAt = this.context.now();
    this.isClosedByUs = closeListener(this.server);
  }
}
