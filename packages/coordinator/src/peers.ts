import { lookup } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { Agent, request } from "@lameduck/kube/node-http";
import { networkInterfaces } from "node:os";
import { operatorNames } from "@lameduck/protocol";
import type { CoordinatorFlags } from "./flags.ts";
import type { Termination } from "./state/termination.ts";

interface PeersOptions {
  /** Resolves to the addresses of all replicas. */
  readonly host: string;
  readonly port: number;
  readonly tokenFile: string;
  /** Addresses of this replica. */
  readonly isOwn: (address: string) => boolean;
  readonly onProblem: (error: unknown) => void;
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

const requestTimeoutMs = 2_000;
const mostUnderWay = 200;

/** Sends a pod's report on to the other replicas. Best effort: a record may lack it, and no pod waits for it. */
export class Peers {
  readonly #options: PeersOptions;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 });
  #underWay = 0;

  constructor(options: PeersOptions) {
    this.#options = options;
  }

  send({ uid, namespace, name }: Termination, text: string): void {
    if (this.#underWay >= mostUnderWay) return;
    this.#underWay++;
    const path = `${operatorNames.coordinator.paths.pods}/${namespace}/${name}?uid=${encodeURIComponent(uid)}`;
    void this.#sendToAll(path, text)
      .catch((error: unknown) => this.#options.onProblem(error))
      .finally(() => this.#underWay--);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #sendToAll(path: string, text: string): Promise<void> {
    const { host, tokenFile, isOwn, resolve = addressesOf } = this.#options;
    const others = (await resolve(host)).filter((address) => !isOwn(address));
    if (others.length === 0) return;
    const token = (await readFile(tokenFile, "utf8")).trim();
    await Promise.all(others.map((address) => this.#post(address, path, token, text)));
  }

  #post(host: string, path: string, token: string, text: string): Promise<void> {
    const { port } = this.#options;
    const headers = { authorization: `Bearer ${token}`, "content-length": Buffer.byteLength(text) };
    const signal = AbortSignal.timeout(requestTimeoutMs);
    return new Promise((resolve, reject) => {
      request({ host, port, path, method: "POST", headers, agent: this.#agent, signal }, (response) => {
        response.resume().on("end", resolve).on("error", reject);
      })
        .on("error", reject)
        .end(text);
    });
  }
}

/** @returns undefined where there are no other replicas, or no token that this one could show to them. */
export function peersOf(
  { peers, tokenFile }: CoordinatorFlags,
  onProblem: (part: string, error: unknown) => void,
): Peers | undefined {
  if (peers === undefined || tokenFile === undefined) return undefined;
  const own = new Set(
    Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)),
  );
  return new Peers({
    host: peers,
    port: operatorNames.coordinator.ports.protocol,
    tokenFile,
    isOwn: (address) => own.has(address),
    onProblem: (error) => onProblem("peers", error),
  });
}

async function addressesOf(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}
