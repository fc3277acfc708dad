import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Server } from "node:http";
import type { ClusterConnection, KubernetesClient } from "@lameduck/kube";
import type { Logger } from "pino";
import { operatorNames, lameduckVersion } from "@lameduck/protocol";
import { Cluster } from "./cluster.ts";
import type { CoordinatorFlags } from "./flags.ts";
import { CoordinatorMetrics } from "./metrics.ts";
import { metricsServer, portOf } from "./metrics-server.ts";
import { type Peers, peersOf } from "./peers.ts";
import { ConsumerRequests } from "./protocol/consumer-requests.ts";
import { Identifier } from "./protocol/identify.ts";
import { OtherVersions } from "./protocol/other-versions.ts";
import { PodRequests } from "./protocol/pod-requests.ts";
import { protocolServer } from "./protocol/server.ts";
import { DecisionLoop } from "./decision-loop.ts";
import { PolicySettings } from "./settings.ts";
import { Consumers } from "./state/consumers.ts";
import { Nodes } from "./state/nodes.ts";
import type { Termination, Transition } from "./state/termination.ts";
import { type IncompleteServices, incompleteServices, Routing } from "@lameduck/cluster";
import { Terminations } from "./state/terminations.ts";
import { Withdrawals } from "./state/withdrawals.ts";
import { consumersStatus, type CoordinatorStatus } from "./status.ts";
import { terminatingPods } from "./terminating.ts";
import { type TerminationListener, steadyNow } from "./termination-view.ts";
import { Tokens } from "./tokens.ts";

/** Senders that the status names. */
const mostSendersShown = 100;

interface CoordinatorOptions {
  readonly flags: CoordinatorFlags;
  readonly client: KubernetesClient;
  readonly connection: Pick<ClusterConnection, "namespace">;
  readonly log: Logger;
  readonly listeners?: readonly TerminationListener[];
  /** Milliseconds, by a clock that never jumps. */
  readonly now?: () => number;
  /** Until a failed request is repeated. */
  readonly retryMs?: number;
  /** So long it is not ready because the proxies of nodes have not reported yet; default 15 s. */
  readonly firstReportsTimeoutMs?: number;
}

/** One replica of the coordinator: its knowledge of the cluster and of consumers, and its servers. */
export class Coordinator {
  readonly metrics = new CoordinatorMetrics();
  /** Identifies this run. Numbers of withdrawals belong to one run. */
  readonly epoch = randomBytes(6).toString("hex");
  readonly #options: CoordinatorOptions;
  readonly #now: () => number;
  readonly #nodes = new Nodes();
  readonly #consumers = new Consumers((node, now) => this.#nodes.reported(node, now));
  readonly #withdrawals = new Withdrawals();
  readonly #settings: PolicySettings;
  readonly #terminations: Terminations;
  readonly #cluster: Cluster;
  readonly #consumerRequests: ConsumerRequests;
  readonly #podRequests: PodRequests;
  readonly #decisions: DecisionLoop;
  readonly #otherVersions: OtherVersions;
  readonly #peers: Peers | undefined;
  readonly #metricsServer: Server;
  readonly #protocol: ReturnType<typeof protocolServer>;
  #starting: Promise<void> = Promise.resolve();
  #awaitsFirstReports = true;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    const { flags, client, connection, log, now = steadyNow, retryMs } = options;
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
      unread: () => this.#cluster.unsettled,
      knowsEndpoints: () => this.#cluster.knowsEndpoints,
      onTransition: (termination, what) => this.#happened(termination, what),
      reportedBy: (uid) => this.#consumerRequests.reportedBy(uid),
    });
    const terminations = this.#terminations;
    // Tokens expire by the time of day.
    const tokens = new Tokens(client, {
      now: Date.now,
      onReview: (outcome) => this.metrics.reviews.inc({ outcome }),
    });
    this.#otherVersions = new OtherVersions(now, (err) => log.warn({ err }, "it counts as silent"));
    const onOtherVersion = this.#otherVersions.heard.bind(this.#otherVersions);
    this.#consumerRequests = new ConsumerRequests({
      epoch: this.epoch,
      kinds: flags.consumerKinds,
      controllerOf: (ingressClass) => routing.controllerOf(ingressClass),
      consumers,
      withdrawals,
      pods: terminations.pods,
      now,
      onReport: (outcome) => this.metrics.reports.inc({ outcome }),
      onOtherVersion,
      onAdvance: () => this.#decisions.soon(),
    });
    this.#podRequests = new PodRequests({
      terminations,
      settings: this.#settings,
      now,
      unheard: () => this.#cluster.unheard,
      onPodReport: (termination, text) => this.#peers?.send(termination, text),
      onOverruled: ({ namespace, name, overruledBy: address, falseAcknowledgers }) => {
        this.metrics.overruledBy(falseAcknowledgers);
        log.warn({ namespace, name, address, falseAcknowledgers }, "a connection after the release");
      },
    });
    this.#decisions = new DecisionLoop({
      decide: () => terminations.decide(now()),
      sweep: () => {
        this.#podRequests.sweep();
        this.#consumerRequests.sweep();
      },
      forget: () => {
        this.#consumers.forget(now());
        this.#consumerRequests.forget();
      },
      onFault: (error) => onProblem("rounds", error),
    });
    this.#cluster = new Cluster(client, {
      nodes,
      routing,
      settings: this.#settings,
      terminations,
      now,
      onChange: () => this.#decisions.soon(),
      onProblem,
      ...(retryMs === undefined ? {} : { retryMs }),
    });
    this.#protocol = protocolServer({
      consumerRequests: this.#consumerRequests,
      podRequests: this.#podRequests,
      identifier: new Identifier(tokens, Date.now),
      terminations,
      consumerAccounts: flags.consumerAccounts,
      holdAccounts: flags.holdAccounts,
      ownAccount: `${namespace}/${operatorNames.coordinator.workload}`,
      onOtherVersion,
      onRefused: (path, status) => this.metrics.refused.inc({ path, status: String(status) }),
      onFault: (error) => onProblem("protocol", error),
    });
    this.#peers = peersOf(flags, onProblem);
    const { paths } = operatorNames.coordinator;
    this.#metricsServer = metricsServer(this.metrics, {
      notReady: () => this.notReady(),
      pages: {
        [paths.status]: () => ({ ...this.status(), services: this.#incompleteServices(routing) }),
        [paths.terminating]: () => terminatingPods(terminations, now()),
      },
    });
    this.metrics.registerGauges({
      notReady: () => this.notReady(),
      status: () => this.status(),
      head: () => this.#withdrawals.lastSequence,
      parked: () => this.parked,
      unheard: () => this.#cluster.unheard,
      terminations: () => terminations.all.values(),
      objects: () => this.#cluster.sizes(),
    });
  }

  /** The server of the protocol: the library that stops this process closes it. */
  get server(): Server {
    return this.#protocol.server;
  }

  /** Why this replica is not ready yet; undefined once it is. */
  notReady(): string | undefined {
    const unread = this.#cluster.notReady();
    if (unread !== undefined) return unread;
    const { syncedAt } = this.#terminations;
    if (syncedAt === undefined) return "not begun yet";
    // A replica that has just started has no reports yet: it would answer pods that consumers are missing.
    if (this.#awaitsFirstReports)
      this.#awaitsFirstReports = this.#now() < syncedAt + (this.#options.firstReportsTimeoutMs ?? 15_000);
    const missing = this.#awaitsFirstReports ? this.status().missing.length : 0;
    if (missing === 0) this.#awaitsFirstReports = false;
    return missing === 0
      ? undefined
      : `no report yet of the proxies of ${missing} ${missing === 1 ? "node" : "nodes"}`;
  }

  /** Listens at once; what needs the API server comes when it does. @returns both ports. */
  async start(): Promise<{ readonly port: number; readonly metricsPort: number }> {
    const { flags, log } = this.#options;
    this.#metricsServer.listen(flags.metricsPort, flags.address);
    this.server.listen(flags.port, flags.address);
    await Promise.all([once(this.#metricsServer, "listening"), once(this.server, "listening")]);
    this.#decisions.start();
    this.#starting = this.#cluster.start();
    const port = portOf(this.server);
    const metricsPort = portOf(this.#metricsServer);
    log.info({ port, metricsPort, epoch: this.epoch, version: lameduckVersion }, "listening");
    return { port, metricsPort };
  }

  /** Answers every long poll before the process ends; the clients ask another replica. */
  endLongPolls(): void {
    this.#podRequests.close();
    this.#consumerRequests.close();
    this.#protocol.reporters.end();
  }

  async stop(): Promise<void> {
    this.endLongPolls();
    this.#decisions.stop();
    await Promise.all([this.#cluster.stop(), this.#starting]);
    this.#peers?.close();
    for (const server of [this.server, this.#metricsServer]) {
      server.close();
      server.closeAllConnections();
    }
    this.#protocol.reporters.end();
    this.#options.client.close();
  }

  /** Requests that wait. */
  get parked(): number {
    return this.#consumerRequests.waiting + this.#podRequests.parked;
  }

  get terminations(): ReadonlyMap<string, Termination> {
    return this.#terminations.all;
  }

  status(): CoordinatorStatus {
    const { namespace } = this.#options.connection;
    const settings = this.#settings.of(this.#options.flags.namespace ?? namespace);
    const begun = [...this.#terminations.all.values()].filter(({ isHeldOnly }) => !isHeldOnly);
    return {
      version: 1,
      epoch: this.epoch,
      mode: settings.mode,
      head: this.#withdrawals.lastSequence,
      terminating: begun.length,
      released: begun.filter(({ state }) => state === "released").length,
      unread: this.#cluster.unread(),
      stuck: this.#terminations.stuck.lately(this.#now()),
      otherVersions: this.#otherVersions.lately,
      ...consumersStatus(
        { consumers: this.#consumers, withdrawals: this.#withdrawals, nodes: this.#nodes },
        settings,
        this.#now(),
      ),
    };
  }

  /** For people: it looks at every Service. */
  #incompleteServices(routing: Routing): IncompleteServices {
    const { releases } = this.#terminations;
    const { senders, ...counts } = incompleteServices(
      routing,
      (need, namespace) => releases.isReported(need, namespace),
      (need, service) => releases.assumedSeconds(need, service.slice(0, service.indexOf("/")), [service]),
    );
    return { ...counts, senders: senders.slice(0, mostSendersShown) };
  }

  #happened(termination: Termination, what: Transition): void {
    const { metrics } = this;
    if (what === "released") {
      metrics.releases.inc({ mode: this.#settings.of(termination.namespace).mode });
      const { releasedAt = 0, withdrawnAt = 0 } = termination;
      metrics.releaseSeconds.observe((releasedAt - withdrawnAt) / 1_000);
    }
    if (what === "gone") metrics.ended.inc({ state: termination.state });
    if (what === "answered" || what === "told to end" || what === "gone")
      this.#podRequests.answer(termination);
    if (!termination.isNews(what)) return;
    for (const listener of this.#options.listeners ?? [])
      try {
        listener(termination, what);
      } catch (error) {
        // One that fails must not delay a release.
        metrics.problems.inc({ part: "listener" });
        this.#options.log.error({ err: error, uid: termination.uid }, "a listener failed");
      }
  }
}
