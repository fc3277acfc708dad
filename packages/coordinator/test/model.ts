import type { Change } from "@lameduck/kube";
import type { KeptAddresses } from "@lameduck/senders";
import { PolicySettings } from "../src/settings.ts";
import type { NamedState } from "../src/state/consumer.ts";
import { Consumers } from "../src/state/consumers.ts";
import { Nodes } from "../src/state/nodes.ts";
import {
  slimPod,
  type SlimPod,
  type SlimSlice,
  Routing,
  type SlimRoute,
  type SlimService,
} from "@lameduck/cluster";
import type { SlimEndpoint } from "../../cluster/src/objects.ts";
import type { Termination } from "../src/state/termination.ts";
import { Terminations } from "../src/state/terminations.ts";
import { Withdrawals } from "../src/state/withdrawals.ts";

export const there = <T>(object: T): Change<T> => ({ type: "there", object, at: 0, live: true, since: 0 });
export const gone = <T>(object: T): Change<T> => ({ type: "gone", object, at: 0, live: true, since: 0 });

const serviceOf = (
  uid: string,
  isHeadless: boolean,
  needs: readonly string[] = [],
  isLocal = false,
): SlimService => ({
  metadata: { name: "web", namespace: "shop", uid },
  selector: [],
  isHeadless,
  isLocal,
  needs,
  convergence: undefined,
});

/** @param through as `routeKinds` reads it. */
export const routeOf = (
  kind: string,
  name: string,
  services: readonly string[],
  through: readonly string[],
): SlimRoute => ({
  metadata: { name, uid: name, namespace: "shop" },
  kind,
  services,
  needsNoGrant: false,
  through,
  isCut: false,
  convergence: undefined,
});

/** The coordinator's knowledge alone, on a clock of the test's. Pods are behind Service shop/web. */
export class Model {
  now = 1_000_000;
  /** Lists of the cluster that are not read. */
  unread: readonly string[] = [];
  knowsEndpoints = true;
  readonly nodes = new Nodes();
  readonly consumers = new Consumers((node, now) => this.nodes.reported(node, now));
  readonly withdrawals = new Withdrawals();
  readonly routing = new Routing();
  readonly settings = new PolicySettings("lameduck-system");
  /** By the uid of a pod: the consumers that it reports for. */
  readonly reportedBy = new Map<string, readonly string[]>();
  readonly told: (readonly [uid: string, state: string])[] = [];
  readonly happened: (readonly [what: string, uid: string])[] = [];
  readonly terminations = new Terminations({
    nodes: this.nodes,
    consumers: this.consumers,
    withdrawals: this.withdrawals,
    routing: this.routing,
    settings: this.settings,
    unread: () => this.unread,
    knowsEndpoints: () => this.knowsEndpoints,
    reportedBy: (uid) => this.reportedBy.get(uid) ?? [],
    onTransition: (termination, what) => {
      const { uid, state } = termination;
      if (what === "answered") this.told.push([uid, state]);
      if (termination.isNews(what)) this.happened.push([what, uid]);
    },
  });
  readonly #published = new Map<string, Omit<SlimEndpoint, "pod">>();

  constructor(acknowledgements: object = {}) {
    this.policy("shop", acknowledgements);
    this.service(false);
  }

  policy(namespace: string, acknowledgements: object): void {
    this.settings.take(
      there({ metadata: { name: "default", uid: namespace, namespace }, spec: { acknowledgements } }),
    );
  }

  service(isHeadless: boolean, needs: readonly string[] = [], uid = "web", isLocal = false): void {
    this.routing.service(there(serviceOf(uid, isHeadless, needs, isLocal)), this.now);
  }

  /** A headless Service whose clients keep addresses for so long, as it shows. */
  headless(keptAddresses: KeptAddresses): void {
    this.routing.service(there({ ...serviceOf("web", true), keptAddresses }), this.now);
  }

  serviceGone(uid = "web"): void {
    this.routing.service(gone(serviceOf(uid, false)), this.now);
  }

  ingress(services: readonly string[], name = "i", ingressClassName = "nginx"): void {
    this.route(routeOf("Ingress", name, services, [`ingress-class/${ingressClassName}`]));
  }

  route(route: SlimRoute): void {
    this.routing.route(there(route), this.now);
  }

  ingressGone(name = "i"): void {
    this.routing.route(gone(routeOf("Ingress", name, [], [])), this.now);
  }

  /** Late enough that nobody counts as late any more. */
  synced(age = 20_000): void {
    this.terminations.synced(this.now);
    this.pass(age);
  }

  pass(milliseconds: number): void {
    for (const end = this.now + milliseconds; this.now < end;) {
      this.now = Math.min(end, this.now + 1_000);
      this.terminations.decide(this.now);
    }
  }

  node(name: string, isReady = true): void {
    this.nodes.take(there({ metadata: { name, uid: name }, isReady, addresses: [`ip-${name}`] }), this.now);
  }

  nodeGone(name: string): void {
    this.nodes.take(gone({ metadata: { name, uid: name }, isReady: false, addresses: [] }), this.now);
  }

  pod(
    uid: string,
    isDeleted = false,
    fields: { hostNetwork?: boolean; hostPort?: number; address?: string; phase?: string } = {},
  ): SlimPod {
    const { hostNetwork = false, hostPort, address = `ip-${uid}`, phase = "Running" } = fields;
    const ports = hostPort === undefined ? [] : [{ containerPort: 80, hostPort }];
    const deletionTimestamp = new Date(this.now + 30_000).toISOString();
    const pod = slimPod({
      metadata: {
        name: uid,
        uid,
        namespace: "shop",
        ...(isDeleted ? { deletionTimestamp, deletionGracePeriodSeconds: 30 } : {}),
      },
      spec: { nodeName: "node0", containers: [{ name: "app", ports }], hostNetwork },
      status: { phase, podIPs: address === "" ? [] : [{ ip: address }] },
    });
    this.terminations.pod(there(pod), this.now);
    return pod;
  }

  podGone(uid: string): void {
    const pod = this.terminations.pods.get(uid);
    if (pod) this.terminations.pod(gone(pod), this.now);
    this.#published.delete(uid);
    this.#slice();
  }

  publish(
    uid: string,
    isReady: boolean,
    { live, ...conditions }: Partial<Omit<SlimEndpoint, "pod">> & { readonly live?: boolean } = {},
  ): void {
    this.#published.set(uid, { isReady, isTerminating: !isReady, node: "node0", ...conditions });
    this.#slice(live);
  }

  report(node: string, applied: number, more: Partial<NamedState> = {}): void {
    this.consumers.report(
      {
        kind: "kube-proxy",
        name: node,
        node,
        basis: "rules",
        applied,
        also: [],
        serves: [],
        problem: undefined,
        reason: undefined,
        ...more,
      },
      this.now,
    );
  }

  record(uid: string): Termination {
    const record = this.terminations.all.get(uid);
    if (!record) throw new Error(`${uid} does not terminate`);
    return record;
  }

  state(uid: string): string {
    this.terminations.decide(this.now);
    return this.record(uid).state;
  }

  #slice(live = this.terminations.isSynced): void {
    const slice: SlimSlice = {
      metadata: { name: "web-1", uid: "web-1", namespace: "shop" },
      service: "shop/web",
      endpoints: Array.from(this.#published, ([pod, conditions]) => ({ pod, ...conditions })),
    };
    this.terminations.slice({ ...there(slice), live }, this.now);
  }
}
