import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "@lameduck/drain/common";
import { OperatorError } from "@lameduck/protocol";
import { isKeyPair, validity } from "./chain.ts";
import type { Issued } from "./issue.ts";

interface MountedOptions {
  readonly directory: string;
  readonly onCertificate: (leaf: Issued) => void;
  readonly onProblem: (error: unknown) => void;
  /** Milliseconds between two looks. The kubelet brings new files within a minute or so. */
  readonly every?: number;
}

/**
 * A certificate that somebody else keeps, cert-manager for example: files of a mounted Secret. They are read now and then, not watched: the
 * kubelet swaps symbolic links, which watches of files miss.
 */
export class MountedCertificate {
  readonly #options: MountedOptions;
  readonly #stopping = new AbortController();
  #served: Issued | undefined;
  #following: Promise<void> = Promise.resolve();

  constructor(options: MountedOptions) {
    this.#options = options;
  }

  get expires(): number | undefined {
    return this.#served && validity(this.#served.cert).to;
  }

  /** @throws {OperatorError} LAMEDUCK_OPERATOR_BAD_CERTIFICATE where there is none that a server could show. */
  async start(): Promise<void> {
    await this.#reload();
    this.#following = this.#follow();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#following;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await delay(this.#options.every ?? 10_000, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) await this.#reload().catch(this.#options.onProblem);
    }
  }

  async #reload(): Promise<void> {
    const [cert, key] = await Promise.all([this.#read("tls.crt"), this.#read("tls.key")]);
    if (this.#served?.cert === cert && this.#served.key === key) return;
    // In the middle of a swap one of them may be the new one already.
    if (!isKeyPair({ cert, key }))
      throw new OperatorError(
        "LAMEDUCK_OPERATOR_BAD_CERTIFICATE",
        this.#options.directory,
        "tls.crt and tls.key are no certificate and its key",
      );
    this.#served = { cert, key };
    this.#options.onCertificate(this.#served);
  }

  async #read(name: string): Promise<string> {
    const path = join(this.#options.directory, name);
    try {
      return await readFile(path, "utf8");
    } catch (error) {
      throw new OperatorError("LAMEDUCK_OPERATOR_BAD_CERTIFICATE", path, messageOf(error), { cause: error });
    }
  }
}
