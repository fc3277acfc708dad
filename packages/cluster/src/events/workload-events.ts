import { hasStatus, type KubernetesClient, orUndefined } from "@lameduck/kube";
import type { WorkloadName } from "../objects.ts";
import { operatorNames } from "@lameduck/protocol";
import { TokenBucket } from "./token-bucket.ts";
import { eventReasons, type EventReason } from "./reasons.ts";
import { apiVersionOf, WorkloadUids } from "./workload-uids.ts";

/** Repeated Events of one workload, written as one Event whose count grows. */
interface Series {
  readonly namespace: string;
  readonly workload: WorkloadName;
  readonly reason: EventReason;
  /** Undefined where it has to be read. */
  readonly uid: string | undefined;
  readonly since: number;
  message: string;
  count: number;
  written: number;
  last: number;
  /** Name of the Event, and when it was written last. */
  event: string | undefined;
  writtenAt: number;
}

/** Between two writes of one series: a rollout of 500 pods is ten of them. */
const writeIntervalMs = 60_000;
/** The API server forgets Events an hour after their last change. */
const eventLifetimeMs = 3_600_000;
const most = 1_000;
const perSecond = 5;
const burst = 25;

/** Events on workloads, bounded in number and in rate. */
export class WorkloadEvents {
  readonly #client: KubernetesClient;
  readonly #uids: WorkloadUids;
  readonly #series = new Map<string, Series>();
  readonly #pace: TokenBucket;
  readonly #now: () => number;
  readonly #instance: string;
  readonly #component: string;

  /** @param component whose Events these are. */
  constructor(
    client: KubernetesClient,
    instance: string,
    now: () => number,
    component: string = operatorNames.coordinator.workload,
  ) {
    this.#client = client;
    this.#uids = new WorkloadUids(client);
    this.#pace = new TokenBucket(perSecond, burst);
    this.#now = now;
    this.#instance = instance;
    this.#component = component;
  }

  /** @param workload without a uid where that has to be read. */
  add(
    namespace: string,
    workload: WorkloadName & { readonly uid?: string },
    { reason, message }: { readonly reason: EventReason; readonly message: string },
  ): void {
    const key = `${namespace}/${workload.kind}/${workload.name}/${workload.uid ?? ""}/${reason}`;
    const now = this.#now();
    const known = this.#series.get(key);
    const series = known ?? {
      namespace,
      workload,
      reason,
      uid: workload.uid,
      since: now,
      message,
      count: 0,
      written: 0,
      last: now,
      event: undefined,
      writtenAt: -Infinity,
    };
    series.message = message.slice(0, 1_000);
    series.count++;
    series.last = now;
    if (!known) this.#forgetOldest();
    this.#series.delete(key);
    this.#series.set(key, series);
  }

  /** Writes the Events that are due. @throws where the API server fails; a later pass writes them. */
  async pass(signal: AbortSignal): Promise<void> {
    const now = this.#now();
    for (const [key, series] of this.#series) {
      if (now - series.last > eventLifetimeMs) this.#series.delete(key);
      if (series.count === series.written || now - series.writtenAt < writeIntervalMs) continue;
      if (this.#pace.take() > 0) return;
      await this.#write(series, signal);
    }
  }

  #forgetOldest(): void {
    const [oldest] = this.#series.keys();
    if (this.#series.size >= most && oldest !== undefined) this.#series.delete(oldest);
  }

  async #write(series: Series, signal: AbortSignal): Promise<void> {
    const { count } = series;
    const isUpdated = series.event !== undefined && (await this.#updateEvent(series, signal));
    if (!isUpdated) await this.#createEvent(series, signal);
    series.written = count;
    series.writtenAt = this.#now();
  }

  /** @returns whether the Event was still there. */
  async #updateEvent(series: Series, signal: AbortSignal): Promise<boolean> {
    const { namespace, event, count, message } = series;
    const body = { count, message, lastTimestamp: timestamp(series.last) };
    const path = `${eventsOf(namespace)}/${event}`;
    return (await orUndefined(this.#client.patch(path, body, "merge-patch", signal), 404)) !== undefined;
  }

  async #createEvent(series: Series, signal: AbortSignal): Promise<void> {
    const { namespace, workload, reason, message, count, since, last } = series;
    const uid = series.uid ?? (await this.#uids.of(namespace, workload, signal));
    const apiVersion = apiVersionOf(workload.kind);
    const name = `${workload.name.slice(0, 230)}.${Math.trunc(this.#now()).toString(16)}${Object.keys(eventReasons).indexOf(reason)}`;
    const body = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name, namespace },
      involvedObject: {
        kind: workload.kind,
        name: workload.name,
        namespace,
        ...(apiVersion === undefined ? {} : { apiVersion }),
        ...(uid ? { uid } : {}),
      },
      reason,
      message,
      type: eventReasons[reason],
      count,
      firstTimestamp: timestamp(since),
      lastTimestamp: timestamp(last),
      source: { component: this.#component },
      reportingComponent: this.#component,
      reportingInstance: this.#instance,
    };
    try {
      await this.#client.post(eventsOf(namespace), body, signal);
      series.event = name;
    } catch (error) {
      // These refusals are final, as in a namespace that is being deleted. Retrying would keep others waiting.
      if (!hasStatus(error, 400, 403, 404, 409, 422)) throw error;
    }
  }
}

const eventsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/events`;

/** metav1.Time: whole seconds. */
const timestamp = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
