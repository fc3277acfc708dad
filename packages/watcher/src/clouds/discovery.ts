import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { type Change, type KubernetesClient, type KubernetesObject, Source } from "@lameduck/kube";
import { balancers } from "@lameduck/senders";
import type { Logger } from "pino";
import { Poller } from "../poller.ts";
import { Replicas, type ReplicasOptions } from "../replicas.ts";
import type { BoundGroup, DiscoveredCloud } from "./bound-groups.ts";
import { ServiceGroups } from "./service-groups.ts";

/** Between two looks at groups that nobody waits for: problems show before a pod waits, and it is known who has which addresses. */
const refreshMs = 300_000;
/** Between two passes over what is to be refreshed or forgotten. */
const passMs = 5_000;
/** Between two words about one replica of the coordinator. */
const toldAgainMs = 10_000;
/** For which one answer of the name service holds: each Service asks for itself. */
const namesMs = 5_000;

export interface DiscoveryOptions extends Pick<ReplicasOptions, "coordinators" | "tokenFile" | "node"> {
  readonly client: KubernetesClient;
  readonly cloud: DiscoveredCloud;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly now?: () => number;
}

interface Reported {
  readonly groups: ServiceGroups;
  readonly poller: Poller;
  readonly replicas: Replicas;
  refreshAt: number;
}

/** Finds the groups of a cloud's load balancers in the cluster's objects, and reports for each Service that has some. */
export class Discovery {
  readonly #options: DiscoveryOptions;
  readonly #sources: readonly Source<KubernetesObject>[];
  readonly #reported = new Map<string, Reported>();
  /** By the object's uid. */
  readonly #serviceOf = new Map<string, string>();
  readonly #now: () => number;
  readonly #resolve = cachedLookup();
  readonly #failedAt = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #stopping: Promise<unknown> = Promise.resolve();

  constructor(options: DiscoveryOptions) {
    const { client, cloud, log, now = () => performance.now() } = options;
    this.#options = options;
    this.#now = now;
    this.#sources = cloud.paths.map(
      (path) =>
        new Source<KubernetesObject>(client, {
          name: path.split("/").slice(2).join("/"),
          path,
          keep: slim,
          onChange: (change) => this.#take(change),
          onProblem: (name, error) => log.warn({ name, err: error }, "cannot be listed"),
          now,
        }),
    );
  }

  /** By Service: how many groups it has. */
  get services(): ReadonlyMap<string, number> {
    return new Map(Array.from(this.#reported, ([service, { groups }]) => [service, groups.size]));
  }

  start(): void {
    for (const source of this.#sources) source.start();
    this.#timer = setInterval(() => this.#pass(), passMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#sources.map((source) => source.stop()));
    await Promise.all([this.#stopping, ...Array.from(this.#reported.values(), stopReporting)]);
  }

  #take({ type, object }: Change<KubernetesObject>): void {
    const { uid } = object.metadata;
    const before = this.#serviceOf.get(uid);
    const found = type === "there" ? this.#options.cloud.read(object) : undefined;
    if (before !== undefined && before !== found?.service) this.#reported.get(before)?.groups.name(uid, []);
    if (found === undefined) this.#serviceOf.delete(uid);
    else {
      this.#serviceOf.set(uid, found.service);
      this.#name(found.service, uid, found.groups);
    }
  }

  #name(service: string, uid: string, groups: readonly BoundGroup[]): void {
    const known = this.#reported.get(service);
    if (known) known.groups.name(uid, groups);
    else {
      const made = this.#begin(service);
      made.groups.name(uid, groups);
      this.#reported.set(service, made);
    }
  }

  #begin(service: string): Reported {
    const { cloud, log, coordinators, tokenFile, node } = this.#options;
    const { kind } = cloud;
    const groups = new ServiceGroups(kind, () => this.#whyNotWhole(), this.#now);
    const poller = new Poller(groups, (problem) => {
      if (problem === undefined) log.info({ service }, "readable again");
      else log.warn({ service, problem }, "cannot be read: nothing is reported as applied");
    });
    const replicas = new Replicas({
      coordinators,
      tokenFile,
      node,
      poller,
      // A Service's name has no dot.
      name: `${kind}/${service.replace("/", ".")}`,
      serves: [`${balancers}/${kind}/${service}`],
      resolve: this.#resolve,
      onFailure: (place, error) => {
        // All Services report to the same replicas.
        if (this.#now() - (this.#failedAt.get(place) ?? -Infinity) < toldAgainMs) return;
        this.#failedAt.set(place, this.#now());
        log.warn({ place, service, err: error }, "it is tried again");
      },
    });
    return { groups, poller, replicas, refreshAt: -Infinity };
  }

  /** Why there may be groups that are not known here. */
  #whyNotWhole(): string | undefined {
    const unread = this.#sources.find(({ isKnown }) => !isKnown);
    if (unread === undefined) return undefined;
    return `${unread.name} ${unread.state === "unheard" ? "are not kept up to date" : "cannot be listed"}`;
  }

  #pass(): void {
    const now = this.#now();
    const { calls } = this.#options.cloud;
    calls.groups = [...this.services.values()].reduce((sum, size) => sum + size, 0);
    for (const [service, one] of this.#reported) {
      one.groups.forget();
      if (one.groups.size === 0) {
        this.#reported.delete(service);
        this.#stopping = Promise.all([this.#stopping, stopReporting(one)]);
      } else if (now >= one.refreshAt && this.#whyNotWhole() === undefined) {
        one.refreshAt = now + refreshMs;
        void one.poller.check();
      }
    }
  }
}

/** Who wrote which of its fields when is the longest part of an object. */
function slim({ metadata, ...rest }: KubernetesObject): KubernetesObject {
  const {
    managedFields: _,
    annotations: __,
    ...kept
  } = metadata as typeof metadata & {
    readonly managedFields?: unknown;
  };
  return { metadata: kept, ...rest };
}

async function stopReporting({ replicas, poller }: Reported): Promise<void> {
  await replicas.stop();
  await poller.stop();
}

/** The same question is asked for each Service at about the same time. */
function cachedLookup(): (host: string) => Promise<readonly string[]> {
  let last:
    | { readonly host: string; readonly at: number; readonly found: Promise<readonly string[]> }
    | undefined;
  return (host) => {
    if (isIP(host) !== 0) return Promise.resolve([host]);
    if (last?.host !== host || performance.now() - last.at > namesMs) {
      const found = lookup(host, { all: true }).then((all) => all.map(({ address }) => address));
      last = { host, at: performance.now(), found };
    }
    return last.found;
  };
}
