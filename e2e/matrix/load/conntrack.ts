import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The kernel forgets a refused connection at once, a reset one after 10 s, and one that nobody answered after two minutes. */
const collectedFor = 500;

/**
 * The address to which the node's kube-proxy sent a connection that failed. It is the source of the answers that the kernel expects. Who loses
 * thousands of requests asks for many addresses at once.
 */
export class Destinations {
  readonly #called: string;
  #next: Promise<ReadonlyMap<number, string>> | undefined;

  constructor(called: string) {
    this.#called = called;
  }

  /**
   * Undefined where the kernel keeps no entry for the connection from that port. Undefined, too, where its only entry leads to the address that was
   * called.
   */
  async of(localPort: number): Promise<string | undefined> {
    this.#next ??= this.#listSoon();
    return (await this.#next).get(localPort);
  }

  async #listSoon(): Promise<ReadonlyMap<number, string>> {
    await sleep(collectedFor);
    this.#next = undefined;
    try {
      const arguments_ = ["-L", "-p", "tcp", "--orig-dst", this.#called];
      const { stdout } = await run("conntrack", arguments_, { timeout: 5_000, maxBuffer: 1 << 26 });
      return destinationsIn(stdout);
    } catch {
      return new Map();
    }
  }
}

const tuple = /src=([0-9.]+) dst=([0-9.]+) sport=(\d+)/g;

/**
 * By local port, of lines like: tcp 6 118 SYN_SENT src=198.18.0.15 dst=198.19.3.4 sport=40000 dport=80 [UNREPLIED] src=198.18.129.7 dst=198.18.0.15
 * sport=8080 dport=40000. A port of which two entries disagree is left out.
 */
export function destinationsIn(listing: string): ReadonlyMap<number, string> {
  const found = new Map<number, string | undefined>();
  for (const line of listing.split("\n")) {
    const [called, answering] = [...line.matchAll(tuple)];
    if (called === undefined || answering === undefined || called[2] === answering[1]) continue;
    const port = Number(called[3]);
    const disagrees = found.has(port) && found.get(port) !== answering[1];
    found.set(port, disagrees ? undefined : answering[1]);
  }
  return new Map([...found].flatMap(([port, address]) => (address === undefined ? [] : [[port, address]])));
}
