import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "@lameduck/drain/common";
import type { KubernetesClient } from "@lameduck/kube";
import { apiServers, probesFor } from "./api-servers.ts";
import { nameOfInjector, type Injector } from "./injector.ts";
import { isRefusal, isSeen } from "./probe.ts";

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
  /** Those that ask for injection. */
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
