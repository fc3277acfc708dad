import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "@lameduck/drain/common";
import { ApiFailure, type KubernetesClient, type KubernetesObject, type Pod } from "@lameduck/kube";
import { probeAnnotation } from "@lameduck/protocol";
import { type Injector, nameOfInjector } from "./injector.ts";
import { ifReadable } from "../cluster/facts.ts";
import { CliError } from "../errors.ts";

/** What dry runs have shown of one injector. */
export interface Trial {
  readonly by: Injector["by"];
  readonly name: string;
  /** The labelled namespace in which pods were made; undefined where none could be. */
  readonly namespace: string | undefined;
  /** The last pods that were made, as many as reach each API server. */
  readonly asked: number;
  /** How many of them it has seen. */
  readonly seen: number;
  /** Undefined where the cluster does not say. */
  readonly apiServers: number | undefined;
  /** Why it could not be tried, or what an API server has answered instead. */
  readonly problem: string | undefined;
}

export type Verdict = "in force" | "not in force" | "not tried";

export function verdictOf({ asked, seen }: Trial): Verdict {
  if (asked === 0) return "not tried";
  return seen === asked ? "in force" : "not in force";
}

export interface TrialOptions {
  /** Namespaces that ask for injection. */
  readonly labelled: readonly string[];
  /** Milliseconds in which it may come into force; 0 tells how it is now. */
  readonly within: number;
  readonly signal: AbortSignal;
}

const pauseMs = 250;

/**
 * Makes pods as dry runs, each on a connection of its own, until as many as reach each API server have been seen one after another, or time is up.
 * An API server learns of a new policy, webhook or label by a watch, seconds after it has been written.
 */
export async function tried(
  client: KubernetesClient,
  injector: Injector,
  { labelled, within, signal }: TrialOptions,
): Promise<Trial> {
  const servers = await apiServers(client, signal);
  const bounds = { probes: probesFor(servers), until: Date.now() + within, signal };
  const common = { by: injector.by, name: injector.name, apiServers: servers };
  let problem = "no namespace is labelled for it";
  for (const namespace of labelled.filter((one) => injector.isFor(one)))
    try {
      return { ...common, namespace, ...(await triedIn(client, injector, namespace, bounds)) };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      problem = messageOf(error);
    }
  return { ...common, namespace: undefined, asked: 0, seen: 0, problem };
}

/** @throws {ApiFailure} where pods of this namespace are refused. */
async function triedIn(
  client: KubernetesClient,
  injector: Injector,
  namespace: string,
  {
    probes,
    until,
    signal,
  }: { readonly probes: number; readonly until: number; readonly signal: AbortSignal },
): Promise<Pick<Trial, "asked" | "seen" | "problem">> {
  let last: boolean[] = [];
  let problem: string | undefined;
  do {
    const isNow = await isSeen(client, injector, namespace, signal).catch((error: unknown) => {
      if (signal.aborted || isRefusal(error)) throw error;
      // An API server may be starting.
      problem = messageOf(error);
      return false;
    });
    last = [...last, isNow].slice(-probes);
    if (!isNow && Date.now() < until) await delay(pauseMs, undefined, { signal });
  } while (last.length < probes || (last.includes(false) && Date.now() < until));
  return { asked: probes, seen: last.filter(Boolean).length, problem };
}

/** One line for a person. */
export function trialText(trial: Trial): string {
  const verdict = verdictOf(trial);
  const what = `${nameOfInjector(trial)}: ${verdict}`;
  return verdict === "not tried" ? `${what}: ${trial.problem}` : `${what}: ${shownBy(trial)}`;
}

/** Of what the verdict is made. */
export function shownBy({ namespace, asked, seen, apiServers: servers, problem }: Trial): string {
  const known = servers === undefined ? "how many API servers there are is not known" : counted(servers);
  const last = seen < asked && problem !== undefined ? `; ${problem}` : "";
  return `it saw ${seen} of ${asked} dry-run pods in namespace ${namespace} (${known})${last}`;
}

const counted = (servers: number): string =>
  servers === 1 ? "one API server" : `${servers} API servers, chosen by the balancer before them`;

interface Identity extends KubernetesObject {
  readonly spec?: { readonly renewTime?: string };
}

/** API servers renew their leases every 10 s, and one that has gone leaves its lease for an hour. */
const recentMs = 60_000;

/** How many API servers there are, by their leases (Kubernetes 1.26); undefined where these cannot be read. */
export async function apiServers(client: KubernetesClient, signal: AbortSignal): Promise<number | undefined> {
  const selector = encodeURIComponent("apiserver.kubernetes.io/identity=kube-apiserver");
  const path = `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?labelSelector=${selector}`;
  const leases = (await ifReadable(client.list<Identity>(path, signal))) ?? [];
  const renewed = leases.map(({ spec }) => Date.parse(spec?.renewTime ?? "")).filter((at) => at > 0);
  // By their own clocks: ours may be wrong.
  const newest = Math.max(...renewed);
  return renewed.filter((at) => at > newest - recentMs).length || undefined;
}

/** Control planes that say nothing of themselves rarely have more. */
const assumed = 3;
/** Chance that some API server gets none of the probes. */
const missed = 0.01;

/** How many probes reach every API server, if a balancer takes one at random for each connection. */
export function probesFor(servers: number = assumed): number {
  if (servers === 1) return 1;
  return Math.ceil(Math.log(missed / servers) / Math.log(1 - 1 / servers));
}

/** As Pod Security "restricted" and a quota ask for it. It is never kept: admission does not tell a dry run from others. */
const pod = (by: Injector["by"]): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { generateName: "lameduck-probe-", annotations: { [probeAnnotation]: by } },
  spec: {
    securityContext: { runAsNonRoot: true, runAsUser: 65_532, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "probe",
        image: "registry.k8s.io/pause:3.10",
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        resources: {
          requests: { cpu: "10m", memory: "16Mi" },
          limits: { cpu: "10m", memory: "16Mi" },
        },
      },
    ],
  },
});

/**
 * Has an API server admit a pod as a dry run.
 * @returns whether the injector has seen it, in its present revision.
 */
async function isSeen(
  client: KubernetesClient,
  { by, revision }: Injector,
  namespace: string,
  signal: AbortSignal,
): Promise<boolean> {
  const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All`;
  const { metadata } = await client.postOnce<Pod>(path, pod(by), signal);
  const answer = metadata.annotations?.[probeAnnotation];
  return revision === undefined ? answer !== undefined && answer !== by : answer === revision;
}

/** No right, no quota, or another admission rule: a retry would get the same answer. */
function isRefusal(error: unknown): error is ApiFailure {
  return error instanceof ApiFailure && error.status >= 400 && error.status < 500 && error.status !== 429;
}

/**
 * Waits until new pods are injected, whichever API server admits them, as far as pods can be made to see it.
 * @throws {CliError} LAMEDUCK_NOT_READY with how many of the last pods were.
 */
export async function untilInForce(
  client: KubernetesClient,
  injector: Injector,
  options: TrialOptions,
  say: (line: string) => void,
): Promise<void> {
  const name = nameOfInjector(injector);
  if (options.labelled.some(injector.isFor)) say(`${name}: waiting until it is in force`);
  const trial = await tried(client, injector, options);
  if (verdictOf(trial) === "not in force") throw new CliError("LAMEDUCK_NOT_READY", name, shownBy(trial));
  say(trialText(trial));
  if (verdictOf(trial) === "not tried")
    say("note: see with lameduck status that it is in force before you restart pods of a labelled namespace");
}
