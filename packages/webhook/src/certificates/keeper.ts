import { setTimeout as delay } from "node:timers/promises";
import { hasStatus, type KubernetesClient, type KubernetesObject, orUndefined, Source } from "@lameduck/kube";
import { identityOf } from "@lameduck/cluster";
import { bundleOf, fromSecretData, toSecretData, validity, type Chain } from "./chain.ts";
import type { Issued } from "./issue.ts";
import { rotate, type RotationOptions } from "./rotate.ts";
import { CaBundles } from "./ca-bundles.ts";

interface Secret extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

export interface KeeperOptions extends RotationOptions {
  readonly namespace: string;
  readonly secret: string;
  /** ValidatingWebhookConfigurations besides the two that are always there. */
  readonly extraConfigurations?: readonly string[];
  /** Is given what the server should show from now on. */
  readonly onCertificate: (leaf: Issued) => void;
  /** Is given the authority's key, PEM: what is derived from it is the same for all replicas. */
  readonly onAuthority?: (key: string) => void;
  readonly onProblem: (error: unknown) => void;
  readonly onRepair?: (configurations: number) => void;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/**
 * Keeps authority and certificate in a Secret that all replicas share, and the webhook configurations true to it. No replica is
 * special: each does what is due, and of two that do so at one moment the API server takes one (409).
 */
export class CertificateKeeper {
  readonly #client: KubernetesClient;
  readonly #options: KeeperOptions;
  readonly #caBundles: CaBundles;
  readonly #secret: Source<KubernetesObject>;
  readonly #now: () => number;
  #chain: Chain | undefined;
  #served: Issued | undefined;
  #working: Promise<void> | undefined;
  #ticking: Promise<void> | undefined;
  #isStale = false;
  readonly #stopping = new AbortController();

  constructor(client: KubernetesClient, options: KeeperOptions) {
    this.#client = client;
    this.#options = options;
    this.#now = options.now ?? Date.now;
    const onChange = (): void => void this.reconcileSoon();
    const { onProblem, secret, extraConfigurations } = options;
    this.#secret = new Source(client, {
      name: "secrets",
      path: this.#path(),
      query: { fieldSelector: `metadata.name=${secret}` },
      // It is read when it has changed: the key need not stand in memory twice.
      keep: ({ metadata }) => ({ metadata: identityOf(metadata) }),
      onChange,
      onProblem: (_name, error) => onProblem(error),
    });
    this.#caBundles = new CaBundles(client, { onChange, onProblem, extraConfigurations });
  }

  /** When the certificate that is shown ends, milliseconds since 1970. */
  get expires(): number | undefined {
    return this.#served && validity(this.#served.cert).to;
  }

  /** Resolves when there is a certificate. @throws {KubernetesError} where the API server allows it not. */
  async start(): Promise<void> {
    this.#secret.start();
    await this.#caBundles.start();
    await this.#working;
    await this.#reconcile();
    this.#ticking ??= this.#tick();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#secret.stop(), this.#caBundles.stop(), this.#working, this.#ticking]);
  }

  /** Looks at everything, once more if something changes meanwhile. Reports problems, and tries again with the next tick. */
  reconcileSoon(): Promise<void> {
    this.#isStale = true;
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
    return this.#working;
  }

  async #work(): Promise<void> {
    while (this.#isStale && !this.#stopping.signal.aborted) {
      this.#isStale = false;
      try {
        await this.#reconcile();
      } catch (error) {
        if (!this.#stopping.signal.aborted) this.#options.onProblem(error);
      }
    }
  }

  async #tick(): Promise<void> {
    const { signal } = this.#stopping;
    const pause = Math.min(60_000, this.#options.certificateLifetime / 20);
    while (!signal.aborted) {
      await delay(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
      await this.reconcileSoon();
    }
  }

  async #reconcile(): Promise<void> {
    const chain = await this.#ensureChain();
    this.#chain = chain;
    this.#options.onAuthority?.(chain.authority.key);
    const bundle = bundleOf(chain);
    // First it is trusted, then it is shown.
    if (!this.#caBundles.isInPlace(bundle)) {
      const repaired = await this.#caBundles.write(bundle).catch((error: unknown) => {
        this.#options.onProblem(error);
        return 0;
      });
      if (repaired > 0) this.#options.onRepair?.(repaired);
    }
    if (this.#served?.cert === chain.leaf.cert) return;
    this.#served = chain.leaf;
    this.#options.onCertificate(chain.leaf);
  }

  /** The chain that the Secret holds in the end. What was lost or damaged is restored from memory: the API server knows that one. */
  async #ensureChain(): Promise<Chain> {
    for (;;) {
      const found = await this.#read();
      const known = fromSecretData(found?.data);
      const chain = await rotate(known ?? this.#chain, this.#now(), this.#options, (cert) =>
        this.#caBundles.isInEvery(cert),
      );
      if (chain === known) return chain;
      try {
        await this.#write(found, chain);
        return chain;
      } catch (error) {
        // The other replica was faster.
        if (!hasStatus(error, 409, 404) || this.#stopping.signal.aborted) throw error;
      }
    }
  }

  #read(): Promise<Secret | undefined> {
    return orUndefined(this.#client.get<Secret>(`${this.#path()}/${this.#options.secret}`), 404);
  }

  #write(found: Secret | undefined, chain: Chain): Promise<unknown> {
    const { secret: name } = this.#options;
    const data = toSecretData(chain);
    if (found) return this.#client.put(`${this.#path()}/${name}`, { ...found, data });
    const metadata = { name, labels: { "app.kubernetes.io/managed-by": "lameduck" } };
    return this.#client.post(this.#path(), { apiVersion: "v1", kind: "Secret", metadata, data });
  }

  #path(): string {
    return `/api/v1/namespaces/${this.#options.namespace}/secrets`;
  }
}
