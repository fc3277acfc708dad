import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import type { ClusterConnection, KubernetesClient } from "@lameduck/kube";
import type { Logger } from "pino";
import { metricsHandler } from "../admission/health.ts";
import { operatorNames, lameduckVersion } from "../names.ts";
import { Cluster } from "./cluster.ts";
import type { CoordinatorFlags } from "./flags.ts";
import { CoordinatorMetrics } from "./metrics.ts";
import { Peers } from "./peers.ts";
import { ConsumerDesk } from "./protocol/consumer-desk.ts";
import { Identifier } from "./protocol/identify.ts";
import { PodDesk } from "./protocol/pod-desk.ts";
import { protocolServer } from "./protocol/server.ts";
import { Rounds } from "./rounds.ts";
import { PolicySettings } from "./settings.ts";
import { Consumers } from "./state/consumers.ts";
import { Nodes } from "./state/nodes.ts";
import type { TerminationRecord } from "./state/record.ts";
import { Routing } from "./state/routing.ts";
import { Suspects } from "./suspects.ts";
import { Terminations } from "./state/terminations.ts";
import { Withdrawals } from "./state/withdrawals.ts";
import { consumersStatus, type CoordinatorStatus } from "./status.ts";
import type { TerminationListener } from "./termination.ts";
import { Tokens } from "./tokens.ts";

export interface CoordinatorOptions {
  readonly flags: CoordinatorFlags;
  readonly client: KubernetesClient;
  readonly connection: Pick<ClusterConnection, "namespace">;
  readonly log: Logger;
  readonly listeners?: readonly TerminationListener[];
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Milliseconds until what failed is asked for again. */
  readonly again?: number;
  /** Milliseconds for which it is not ready because the proxies of nodes have not reported yet; default 15,000. */
  readonly patience?: number;
}

/** One replica: what it knows of the cluster and of consumers, and who may ask. */
export class Coordinator {
  readonly metrics = new CoordinatorMetrics();
  /** Of this run: numbers mean something only together with it. */
  readonly epoch = randomBytes(6).toString("hex");
  readonly #options: CoordinatorOptions;
  readonly #now: () => number;
  readonly #nodes = new Nodes();
  readonly #consumers = new Consumers();
  readonly #withdrawals = new Withdrawals();
  readonly #settings: PolicySettings;
  readonly #terminations: Terminations;
  readonly #cluster: Cluster;
  readonly #consumerDesk: ConsumerDesk;
  readonly #podDesk: PodDesk;
  readonly #rounds: Rounds;
  readonly #peers: Peers | undefined;
  readonly #metricsServer: Server;
  /** For the library that stops it. */
  readonly server: Server;
  #starting: Promise<void> = Promise.resolve();
  #isPatient = true;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    const { flags, client, connection, log, now = Date.now, again } = options;
    this.#now = now;
    const namespace = flags.namespace ?? connection.namespace;
    const onProblem = (part: string, error: unknown): void => {
      this.metrics.problems.inc({ part });
      log.warn({ part, err: error }, "it is tried again");
    };
    const [nodes, consumers, withdrawals] = [this.#nodes, this.#consumers, this.#withdrawals];
    const routing = new Routing();
    this.#settings = new PolicySettings(namespace);
    this.#terminations = new Terminations({
      nodes,
      consumers,
      withdrawals,
      routing,
      settings: this.#settings,
      seesAll: () => this.#cluster.seesAll,
      events: {
        began: (record) => this.#tell("began", record),
        changed: (record) => this.#tell("changed", record),
        told: (record) => this.#told(record),
        ended: (record) => this.#ended(record),
      },
    });
    const terminations = this.#terminations;
    const tokens = new Tokens(client, { now, onReview: (outcome) => this.metrics.reviews.inc({ outcome }) });
    this.#consumerDesk = new ConsumerDesk({
      epoch: this.epoch,
      accounts: flags.consumerAccounts,
      kinds: flags.consumerKinds,
      consumers,
      withdrawals,
      pods: terminations.pods,
      now,
      onReport: (outcome) => this.metrics.reports.inc({ outcome }),
      onAdvance: () => this.#rounds.soon(),
    });
    this.#podDesk = new PodDesk({
      terminations,
      settings: this.#settings,
      now,
      onSaid: (record, text) => this.#peers?.tell(record, text),
      onOverruled: (record, address) => {
        this.metrics.overruledBy(record.tooEarly);
        const { namespace, name, tooEarly } = record;
        log.warn({ namespace, name, address, tooEarly }, "a connection after the release");
      },
      suspects: new Suspects({
        pods: terminations.pods,
        nodes,
        consumers,
        reportedBy: (uid) => this.#consumerDesk.reportedBy(uid),
      }),
    });
    this.#rounds = new Rounds({
      decide: () => this.#decide(),
      sweep: () => {
        this.#podDesk.sweep();
        this.#consumerDesk.sweep();
      },
      forget: () => {
        this.#consumers.forget(now());
        this.#consumerDesk.forget();
      },
      onFault: (error) => onProblem("rounds", error),
    });
    this.#cluster = new Cluster(client, {
      nodes,
      routing,
      settings: this.#settings,
      terminations,
      now,
      onChange: () => this.#rounds.soon(),
      onProblem,
      ...(again === undefined ? {} : { again }),
    });
    this.server = protocolServer({
      consumerDesk: this.#consumerDesk,
      podDesk: this.#podDesk,
      identifier: new Identifier(tokens, now),
      terminations,
      consumerAccounts: flags.consumerAccounts,
      holdAccounts: flags.holdAccounts,
      ownAccount: `${namespace}/${operatorNames.coordinator.workload}`,
      onRefused: (path, status) => this.metrics.refused.inc({ path, status: String(status) }),
      onFault: (error) => onProblem("protocol", error),
    });
    this.#peers = this.#peersOf(onProblem);
    this.#metricsServer = createServer(
      metricsHandler(this.metrics, { notReady: () => this.notReady(), status: () => this.status() }),
    );
    this.metrics.describe({
      notReady: () => this.notReady(),
      status: () => this.status(),
      head: () => this.#withdrawals.head,
      parked: () => this.#consumerDesk.parked + this.#podDesk.parked,
      records: () => this.#terminations.records.values(),
      objects: () => this.#cluster.sizes(),
    });
  }

  /** What is still waited for. */
  notReady(): string | undefined {
    const unread = this.#cluster.notReady();
    if (unread !== undefined) return unread;
    const { syncedAt } = this.#terminations;
    if (syncedAt === undefined) return "not begun yet";
    // A successor that is asked before it has heard of anybody could release nobody.
    if (this.#isPatient) this.#isPatient = this.#now() < syncedAt + (this.#options.patience ?? 15_000);
    const missing = this.#isPatient ? this.status().missing.length : 0;
    if (missing === 0) this.#isPatient = false;
    return missing === 0 ? undefined : `the proxies of ${missing} nodes have not reported yet`;
  }

  /** Listens at once; what needs the API server comes when it does. @returns both ports. */
  async start(): Promise<{ readonly port: number; readonly metricsPort: number }> {
    const { flags, log } = this.#options;
    this.#metricsServer.listen(flags.metricsPort, flags.address);
    this.server.listen(flags.port, flags.address);
    await Promise.all([once(this.#metricsServer, "listening"), once(this.server, "listening")]);
    this.#rounds.start();
    this.#starting = this.#cluster.start();
    const port = portOf(this.server);
    const metricsPort = portOf(this.#metricsServer);
    log.info({ port, metricsPort, epoch: this.epoch, version: lameduckVersion }, "listening");
    return { port, metricsPort };
  }

  /** It is about to go: whoever waits is answered now, and asks another replica. */
  leave(): void {
    this.#podDesk.close();
    this.#consumerDesk.close();
  }

  async stop(): Promise<void> {
    this.leave();
    this.#rounds.stop();
    await Promise.all([this.#cluster.stop(), this.#starting]);
    this.#peers?.close();
    for (const server of [this.server, this.#metricsServer]) {
      server.close();
      server.closeAllConnections();
    }
    this.#options.client.close();
  }

  get terminations(): ReadonlyMap<string, TerminationRecord> {
    return this.#terminations.records;
  }

  status(): CoordinatorStatus {
    const { namespace } = this.#options.connection;
    const settings = this.#settings.of(this.#options.flags.namespace ?? namespace);
    const records = [...this.#terminations.records.values()].filter(({ isHeldOnly }) => !isHeldOnly);
    return {
      version: 1,
      epoch: this.epoch,
      mode: settings.mode,
      head: this.#withdrawals.head,
      terminating: records.length,
      released: records.filter(({ state }) => state === "released").length,
      unread: this.#cluster.unread(),
      ...consumersStatus(
        { consumers: this.#consumers, withdrawals: this.#withdrawals, nodes: this.#nodes },
        settings,
        this.#now(),
      ),
    };
  }

  /** @returns whether there is something to be decided by the time that passes. */
  #decide(): boolean {
    this.#terminations.decide(this.#now());
    return this.#terminations.pending > 0;
  }

  #told(record: TerminationRecord): void {
    if (record.state === "released") {
      this.metrics.releases.inc({ mode: this.#settings.of(record.namespace).mode });
      const { releasedAt = 0, withdrawnAt = 0 } = record;
      this.metrics.releaseSeconds.observe((releasedAt - withdrawnAt) / 1_000);
    }
    this.#podDesk.told(record);
  }

  #ended(record: TerminationRecord): void {
    this.metrics.ended.inc({ state: record.state });
    this.#podDesk.told(record);
    this.#tell("ended", record);
  }

  /** A listener that fails must not stop those who wait for a release. */
  #tell(what: keyof TerminationListener, record: TerminationRecord): void {
    for (const listener of this.#options.listeners ?? [])
      try {
        listener[what](record);
      } catch (error) {
        this.metrics.problems.inc({ part: "listener" });
        this.#options.log.error({ err: error, uid: record.uid }, "a listener failed");
      }
  }

  #peersOf(onProblem: (part: string, error: unknown) => void): Peers | undefined {
    const { peers, tokenFile } = this.#options.flags;
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
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
