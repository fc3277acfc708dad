import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer, connect, isIP, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { StageError } from "../errors.ts";

/** What pods may reach although it is outside of their namespaces. */
export interface Allowed {
  /** An address, or a name as this machine knows it. */
  readonly host: string;
  readonly port: number;
}

/** The way there: pods connect to one of the addresses, the stage passes the connection on by the socket, and the process outside dials. */
export interface Forward extends Allowed {
  readonly addresses: readonly string[];
  /** Path of a Unix socket: unlike an address it is the same in every network namespace. */
  readonly socket: string;
}

/** Names that pods may reach, as lines of /etc/hosts. */
export function hostLines(forwards: readonly Forward[]): string {
  return forwards
    .filter(({ host }) => !isIP(host) && host !== "localhost")
    .flatMap(({ host, addresses }) => addresses.map((address) => `${address} ${host}\n`))
    .join("");
}

export interface OpenForwards {
  readonly forwards: readonly Forward[];
  close(): void;
}

/**
 * Dials for pods, outside of their namespaces.
 * @param say - called with the first failure of each.
 * @throws StageError LAMEDUCK_ALLOW_UNKNOWN_HOST
 */
export async function openForwards(
  allowed: readonly Allowed[],
  folder: string,
  say: (line: string) => void,
): Promise<OpenForwards> {
  // Before anything listens: what does would keep the process alive after the error.
  const known = await Promise.all(
    allowed.map(async ({ host, port }) => ({ host, port, addresses: await addressesOf(host) })),
  );
  const servers: Server[] = [];
  const open = new Set<Socket>();
  const forwards = await Promise.all(
    known.map(async ({ host, port, addresses }, index): Promise<Forward> => {
      const socket = join(folder, `forward-${index}`);
      let isNoted = false;
      const server = createServer({ allowHalfOpen: true }, (inner) => {
        const outer = connect({ host, port, allowHalfOpen: true });
        for (const socket of [inner, outer]) {
          open.add(socket);
          socket.on("close", () => open.delete(socket));
        }
        outer.once("error", ({ message }) => {
          if (!isNoted && outer.connecting) say(`note: --allow ${host}:${port}: ${message}`);
          isNoted = true;
        });
        passOn(inner, outer);
      });
      servers.push(server);
      await once(server.listen(socket), "listening");
      return { host, port, addresses, socket };
    }),
  );
  return {
    forwards,
    close: () => {
      for (const server of servers) server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

async function addressesOf(host: string): Promise<string[]> {
  if (isIP(host)) return [host];
  // Whatever /etc/hosts says: programs try one address after the other.
  if (host === "localhost") return ["127.0.0.1", "::1"];
  try {
    return [...new Set((await lookup(host, { all: true })).map(({ address }) => address))];
  } catch (error) {
    throw new StageError("LAMEDUCK_ALLOW_UNKNOWN_HOST", `--allow ${host}`, (error as Error).message);
  }
}

/** Joins two connections until both have ended; where one breaks so does the other. */
export function passOn(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.pipe(to);
    from.on("error", () => to.destroy());
    from.on("close", () => to.destroySoon());
  }
}
