import { learnText, learntText, parseLearnt } from "@lameduck/drain";
import { hasStatus, type KubernetesClient, type KubernetesObject } from "@lameduck/kube";
import { operatorNames } from "../../names.ts";

interface LearntObject extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** Workloads kept for one namespace. Each takes 600 bytes, and a ConfigMap holds 1 MiB. */
export const mostWorkloads = 200;
/** Lessons of one namespace that wait to be written. */
const mostWaiting = 200;
const mostNamespaces = 2_000;
/** Characters of a ConfigMap's key. The API server refuses the whole ConfigMap for a longer one. */
export const longestKey = 253;
/** Milliseconds between two writes of one namespace's ConfigMap. */
const writeInterval = 30_000;
const name = operatorNames.learntConfigMap;
const managedBy = "app.kubernetes.io/managed-by";

interface Waiting {
  readonly lessons: { readonly key: string; readonly lesson: string }[];
  triedAt: number;
}

/**
 * Keeps what terminations have taught, in one ConfigMap for each namespace. A ConfigMap needs no schema, and the webhook can watch this one name.
 * One for each namespace, so that no pod's report reaches another namespace.
 */
export class Lessons {
  readonly #client: KubernetesClient;
  readonly #now: () => number;
  readonly #waiting = new Map<string, Waiting>();

  constructor(client: KubernetesClient, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  /** @param workload "deployment/web" */
  add(namespace: string, workload: string, lesson: string): void {
    const known = this.#waiting.get(namespace);
    if (!known && this.#waiting.size >= mostNamespaces) return;
    const waiting = known ?? { lessons: [], triedAt: -Infinity };
    this.#waiting.set(namespace, waiting);
    const key = keyOf(workload);
    if (key.length <= longestKey) waiting.lessons.push({ key, lesson });
    if (waiting.lessons.length > mostWaiting) waiting.lessons.shift();
  }

  /**
   * Writes the namespaces that are due, or all of them if this replica is about to end.
   * @throws where the API server fails.
   */
  async pass(signal: AbortSignal, isLast = false): Promise<void> {
    for (const [namespace, waiting] of this.#waiting) {
      if (!isLast && this.#now() - waiting.triedAt < writeInterval) continue;
      waiting.triedAt = this.#now();
      if (waiting.lessons.length === 0) this.#waiting.delete(namespace);
      else await this.#write(namespace, waiting, signal);
    }
  }

  async #write(namespace: string, { lessons }: Waiting, signal: AbortSignal): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const added = [...lessons];
    const before = await this.#read(`${path}/${name}`, signal);
    // A ConfigMap of that name that is not ours is left alone.
    const isOurs = before === undefined || before.metadata.labels?.[managedBy] === "lameduck";
    if (isOurs) {
      const data = mostRecent(this.#learnt(before?.data ?? {}, added));
      try {
        if (before) await this.#client.put(`${path}/${name}`, { ...before, data }, signal);
        else await this.#client.post(path, { ...newConfigMap(namespace), data }, signal);
      } catch (error) {
        // Another replica has written meanwhile. The next pass adds these lessons to its version.
        if (hasStatus(error, 409)) return;
        // These refusals are final. Retrying would keep other lessons of the namespace waiting.
        if (!hasStatus(error, 400, 403, 404, 413, 422)) throw error;
      }
    }
    lessons.splice(0, added.length);
  }

  async #read(path: string, signal: AbortSignal): Promise<LearntObject | undefined> {
    try {
      return await this.#client.get<LearntObject>(path, signal);
    } catch (error) {
      if (hasStatus(error, 404)) return undefined;
      throw error;
    }
  }

  #learnt(before: Readonly<Record<string, string>>, added: Waiting["lessons"]): Record<string, string> {
    const data = { ...before };
    const day = new Date(this.#now()).toISOString().slice(0, 10);
    for (const { key, lesson } of added) {
      const learnt = learnText(learntIn(data[key]), lesson);
      if (learnt) data[key] = `${day} ${learntText(learnt)}`;
    }
    return data;
  }
}

/** A key holds no slash. */
export const keyOf = (workload: string): string => workload.replace("/", ".");

/** What a workload has learnt, from its entry "2026-11-25 VERSION:TERMINATIONS:w1,...", which begins with the day of the last lesson. */
export function learntIn(entry: string | undefined): ReturnType<typeof parseLearnt> {
  return parseLearnt(entry?.split(" ")[1]);
}

/** The workloads that learnt last. */
function mostRecent(data: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(data).sort(([, a], [, b]) => (a < b ? 1 : -1));
  return Object.fromEntries(entries.slice(0, mostWorkloads));
}

function newConfigMap(namespace: string): object {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace, labels: { [managedBy]: "lameduck" } },
  };
}
