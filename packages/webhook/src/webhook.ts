import { once } from "node:events";
import type { Server } from "node:http";
import { createServer } from "@lameduck/kube/node-http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type KubernetesClient, type ClusterConnection } from "@lameduck/kube";
import type { Logger } from "pino";
import { metricsHandler, answerOneAtATime } from "@lameduck/program";
import { injectingHandler } from "./admission/mutate.ts";
import { AdmissionServer } from "./admission/server.ts";
import { validate } from "./admission/validate.ts";
import type { InitVolumeSource } from "./init-volume/files.ts";
import { CertificateKeeper } from "./certificates/keeper.ts";
import { MountedCertificate } from "./certificates/mounted.ts";
import { rotate } from "./certificates/rotate.ts";
import { ClusterView } from "./cluster-view.ts";
import { lameduckVersion, operatorNames } from "@lameduck/protocol";
import { LeaderTasks } from "./leader-tasks.ts";
import type { WebhookFlags } from "./flags.ts";
import { leftOutLogger } from "./left-out.ts";
import { setUpHolding, type Holding } from "./holding.ts";
import { WebhookMetrics } from "./metrics.ts";
import { followVersion, type ServerVersion } from "./server-version.ts";

interface WebhookOptions {
  readonly flags: WebhookFlags;
  readonly client: KubernetesClient;
  readonly connection: Pick<ClusterConnection, "namespace">;
  readonly files: InitVolumeSource | undefined;
  readonly log: Logger;
}

/** Time after which a failed step of the start is tried again. */
const retryMs = 1_000;

/** Connections that read the metrics: Prometheus keeps one. */
const mostReaders = 50;

/** The process of the webhook. It starts all its parts, and stops them in the reverse order. */
export class Webhook {
  readonly metrics = new WebhookMetrics();
  readonly #options: WebhookOptions;
  readonly #namespace: string;
  readonly #view: ClusterView;
  readonly #leaderTasks: LeaderTasks;
  readonly #holding: Holding | undefined;
  readonly #certificates: CertificateKeeper | MountedCertificate;
  readonly #admission: AdmissionServer;
  readonly #metricsServer: Server;
  readonly #stopping = new AbortController();
  #version: ServerVersion | undefined;
  #hasCertificate = false;
  #starting: Promise<unknown> = Promise.resolve();

  constructor(options: WebhookOptions) {
    this.#options = options;
    const { flags, client, connection, files, log } = options;
    this.#namespace = flags.namespace ?? connection.namespace;
    const onProblem = (part: string, error: unknown): void => {
      this.metrics.problems.inc({ part });
      log.warn({ part, err: error }, "it is tried again");
    };
    this.#view = new ClusterView(client, {
      onProblem,
      onChange: () => this.#leaderTasks.reconcileSoon(),
      onLeftOut: leftOutLogger(this.metrics, log),
    });
    this.#leaderTasks = new LeaderTasks({
      client,
      view: this.#view,
      namespace: this.#namespace,
      name: flags.name,
      files,
      onProblem,
      auditEveryMs: flags.auditEveryMs,
      kubernetes: () => this.#version?.minor,
      onWrite: (action, namespace) => {
        this.metrics.carried.inc({ action });
        log.info({ action, namespace }, "init volume");
      },
    });
    const { holding } = flags;
    const { metrics } = this;
    const [cluster, namespace] = [this.#view, this.#namespace];
    const isLeader = (): boolean => this.#leaderTasks.isLeader;
    this.#holding =
      holding &&
      setUpHolding({ flags: holding, client, cluster, namespace, metrics, log, isLeader, onProblem });
    const notReady = (): string | undefined => this.notReady();
    this.#admission = new AdmissionServer({
      mutate: injectingHandler({
        cluster: this.#view,
        namespace: this.#namespace,
        lameduckVersion,
        version: () => this.#version,
        coordinator: flags.coordinator,
        onUnknownPaths: () => this.metrics.beforeServices.inc(),
      }),
      validate,
      guarded: this.#holding?.guarded,
      notReady,
      onReview: (path, outcome, seconds) => this.metrics.reviewed(path, outcome, seconds),
      onFault: (error, { uid, namespace, kind }) =>
        log.error({ err: error, uid, namespace, kind }, "a review failed inside; it was admitted"),
      onDrop: () => this.metrics.dropped.inc(),
      onTlsFailure: () => this.metrics.handshakes.inc(),
    });
    this.#metricsServer = createServer();
    answerOneAtATime(this.#metricsServer, metricsHandler(this.metrics, { notReady }));
    this.#metricsServer.maxConnections = mostReaders;
    this.#certificates = this.#certificatesOf(onProblem);
    this.#registerGauges();
  }

  /** The server of the reviews, which Lameduck's own library stops. */
  get server(): AdmissionServer["server"] {
    return this.#admission.server;
  }

  /** What the process still waits for. Undefined once it is ready. */
  notReady(): string | undefined {
    return this.#hasCertificate ? this.#view.notReady() : "no certificate that the API server trusts yet";
  }

  /** Listens at once, so that the kubelet is answered. Parts that need the API server start when it answers. @returns both ports. */
  async start(): Promise<{ readonly port: number; readonly metricsPort: number }> {
    const { flags, client, log } = this.#options;
    this.#metricsServer.listen(flags.metricsPort, flags.address);
    await once(this.#metricsServer, "listening");
    // Nobody trusts this first certificate. The kubelet is answered with it, because the kubelet verifies no certificate.
    const provisional = await rotate(undefined, Date.now(), this.#rotation(), () => false);
    this.#admission.useCertificate(provisional.leaf);
    const port = await this.#admission.listen(flags.port, flags.address);
    this.#view.start();
    this.#leaderTasks.start();
    this.#holding?.start();
    this.#starting = Promise.all([
      followVersion(client, (version) => (this.#version = version), this.#stopping.signal),
      this.#startCertificates(),
    ]);
    const { port: metricsPort } = this.#metricsServer.address() as AddressInfo;
    log.info({ port, metricsPort, namespace: this.#namespace, version: lameduckVersion }, "listening");
    return { port, metricsPort };
  }

  /** Stops all parts that are left. Reviews under way have been answered before. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#holding?.stop();
    await this.#leaderTasks.stop();
    await Promise.all([this.#certificates.stop(), this.#view.stop(), this.#starting]);
    if (this.#admission.server.listening) await this.#admission.close();
    this.#metricsServer.close();
    this.#metricsServer.closeAllConnections();
    this.#options.client.close();
  }

  async #startCertificates(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted)
      try {
        await this.#certificates.start();
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.metrics.problems.inc({ part: "certificates" });
        this.#options.log.warn({ part: "certificates", err: error }, "it is tried again");
        await delay(retryMs, undefined, { signal }).catch(() => undefined);
      }
  }

  #certificatesOf(onProblem: (part: string, error: unknown) => void): CertificateKeeper | MountedCertificate {
    const { flags, client, log } = this.#options;
    const common = {
      onCertificate: (leaf: { readonly cert: string; readonly key: string }): void => {
        this.#admission.useCertificate(leaf);
        this.#hasCertificate = true;
        log.info({ expires: new Date(this.#certificates.expires ?? 0).toISOString() }, "certificate");
      },
      onProblem: (error: unknown) => onProblem("certificates", error),
    };
    if (flags.certificateDirectory !== undefined)
      return new MountedCertificate({ ...common, directory: flags.certificateDirectory });
    return new CertificateKeeper(client, {
      ...common,
      ...this.#rotation(),
      namespace: this.#namespace,
      secret: operatorNames.certificateSecret,
      extraConfigurations: this.#holding?.configurations ?? [],
      onAuthority: (key) => this.#holding?.deriveFrom(key),
      onRepair: (count) => {
        this.metrics.repairs.inc(count);
        log.info({ count }, "webhook configurations told of the authority");
      },
    });
  }

  #rotation(): Parameters<typeof rotate>[2] {
    const { serveAs, certificateLifetime, authorityLifetime } = this.#options.flags;
    const names = [`${operatorNames.service}.${this.#namespace}.svc`, ...serveAs];
    return { names, certificateLifetime, authorityLifetime };
  }

  #registerGauges(): void {
    this.metrics.registerGauges({
      notReady: () => this.notReady(),
      isLeader: () => this.#leaderTasks.isLeader,
      losingWorkloads: () => this.#leaderTasks.losingWorkloads,
      expires: () => this.#certificates.expires,
      objects: () => [...this.#view.sizes().values()].reduce((sum, size) => sum + size, 0),
    });
  }
}
