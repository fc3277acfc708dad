import type { KeptPod, ContainerExit, Injected, WorkloadName } from "@lameduck/cluster";
import type { NamedConsumers, Termination } from "../termination.ts";

/** The state that a terminating pod is answered. */
export type ReleaseState = "waiting" | "released" | "incomplete" | "unknown";

/** One termination: its public part, and how far the search for consumers that are behind has come. */
export class TerminationRecord implements Termination {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly node: string | undefined;
  readonly workload: WorkloadName | undefined;
  readonly graceSeconds: number;
  deletedAt: number;
  addresses: readonly string[];
  exits: readonly ContainerExit[];
  number: number | undefined;
  withdrawnAt: number | undefined;
  releasedAt: number | undefined;
  /** By then every proxy has added the pod. Before, its absence from rules proves nothing. */
  addedBy = -Infinity;
  isMeasured = false;
  goneAt: number | undefined;
  overruledBy: string | undefined;
  tooEarly: readonly string[] = [];
  overruler: string | undefined;
  mayBeProbe = false;
  readonly injected: Injected | undefined;
  reported: Readonly<Record<string, string>> = {};
  /** The pod is not being deleted: somebody asks whether it could be. */
  isHeldOnly: boolean;
  isHostNetwork: boolean;
  readonly hasHostPort: boolean;
  isFinished = false;
  /** Its containers have ended and its object stays, held by a finalizer: what there is to record is recorded. */
  isLingering = false;
  /** What holds the object. */
  finalizers: readonly string[] = [];
  state: ReleaseState = "waiting";
  /** Somebody asks for the end of its hold. */
  isToEnd: boolean;
  /** It has seen a connection from outside the cluster. Such a connection may come through any node. */
  seesOutside = false;
  /** Nodes from which it has seen connections; undefined while it has told of none, or sees outside. */
  seenNodes: ReadonlySet<string> | undefined;
  /** Index of the first node that may not have let go. */
  cursor = 0;
  /** Version of the nodes' order that the cursor belongs to. */
  cursorVersion = -1;
  readonly #consumersOf: (record: TerminationRecord) => NamedConsumers;

  constructor(pod: KeptPod, consumersOf: (record: TerminationRecord) => NamedConsumers, now: number) {
    const { metadata, node, addresses, workload, graceSeconds, deletedAt, exits, hostAddress, hasHostPort } =
      pod;
    this.uid = metadata.uid;
    this.namespace = metadata.namespace ?? "";
    this.name = metadata.name;
    this.node = node;
    this.workload = workload;
    this.graceSeconds = graceSeconds;
    this.deletedAt = deletedAt ?? now;
    this.isHeldOnly = deletedAt === undefined;
    this.isHostNetwork = hostAddress !== undefined;
    this.hasHostPort = hasHostPort;
    this.addresses = addresses;
    this.injected = pod.injected;
    this.exits = exits;
    this.isToEnd = pod.isToEnd === true;
    this.#consumersOf = consumersOf;
  }

  /** @param nodes from which senders come; undefined for one from outside the cluster, which may come through any node. */
  sees(nodes: readonly (string | undefined)[]): void {
    this.seesOutside ||= nodes.includes(undefined);
    const found = nodes.filter((node) => node !== undefined);
    this.seenNodes = this.seesOutside ? undefined : new Set([...(this.seenNodes ?? []), ...found]);
  }

  get consumers(): NamedConsumers {
    return this.#consumersOf(this);
  }
}
