import {
  convergenceOf,
  exposureOf,
  servingContainers,
  spell,
  type AuditOptions,
  type Container,
  type Workload as AuditedWorkload,
} from "@lameduck/audit";
import { parsePropagation, type LoadOptions, type Propagation } from "@lameduck/load";
import { readManifest, type Workload } from "@lameduck/manifests";
import { drainOf, playedContainer, type Surroundings } from "./container.ts";
import { documentsOf } from "./documents.ts";

/** A workload as the lab rolls it. */
export interface Played {
  readonly workload: Workload;
  readonly propagation: Propagation;
  readonly load: LoadOptions;
  /** What of it is not as the manifest says, and what its senders do. */
  readonly notes: readonly string[];
  readonly hasRealPrograms: boolean;
  /** What serves is not the program itself. */
  readonly isStandIn: boolean;
}

const ratePerSecond = 100;
const longestGraceSeconds = 300;
/** Where no Service of the input says who sends. */
const usualConvergenceSeconds = 10;

/** Why nothing of it can be rolled; undefined where it can. */
export function whyNotPlayed(workload: AuditedWorkload): string | undefined {
  const { object, grace } = workload;
  const { kind } = object;
  if (exposureOf(workload) === "none") return "nobody sends it requests";
  if (["Job", "CronJob"].includes(kind)) return `a ${kind} has no rollout`;
  if (grace.value > longestGraceSeconds)
    return `its grace period of ${grace.value} s is longer than the ${longestGraceSeconds} s that the lab waits for a pod`;
  return undefined;
}

/** @throws {ManifestError} for what the lab cannot run. */
export function played(
  workload: AuditedWorkload,
  { facts, kubernetes }: Pick<AuditOptions, "facts" | "kubernetes">,
  standInsOnly: boolean,
): Played {
  const serving = servingContainers(workload)[0]!;
  const around: Surroundings = { workload, facts, kubernetes, servedPort: undefined, standInsOnly };
  const ofServing = { ...around, servedPort: servedPortOf(workload) };
  const front = playedContainer(serving, ofServing);
  const mains = workload.containers.map((one) => (one === serving ? front : playedContainer(one, around)));
  const sidecars = workload.sidecars.map((one) => playedContainer(one, around));
  const all = [...mains, ...sidecars];
  const senders = sendersOf(workload, facts);
  return {
    workload: readManifest(JSON.stringify(documentsOf(workload, mains, sidecars)), spell(workload.object)),
    propagation: senders.propagation,
    load: loadOf(serving, front.isStandIn, drainOf(serving, around)),
    notes: [...all.map(({ note }) => note), senders.note],
    isStandIn: front.isStandIn,
    hasRealPrograms: all.some((one) => !one.isStandIn),
  };
}

/** Late, but not later than the audit assumes: a hold of that time has to be enough. */
function sendersOf(
  workload: AuditedWorkload,
  facts: AuditOptions["facts"],
): { readonly propagation: Propagation; readonly note: string } {
  const convergence = convergenceOf(workload, facts);
  const seconds = convergence?.amount.value ?? usualConvergenceSeconds;
  const [from, to] = [seconds / 2, seconds * 0.9];
  const because = convergence?.sender
    ? `as ${convergence.sender.name} would`
    : convergence
      ? "as told"
      : "an assumption: no Service is in the input";
  return {
    propagation: parsePropagation(`exactly ${from}s..${to}s`, "convergence"),
    note: `senders let go of a deleted pod after ${from} to ${to} s, ${because}`,
  };
}

/** A program of this machine is asked where its readiness probe asks: that path is there. */
function loadOf({ readiness }: Container, isStandIn: boolean, drain: number): LoadOptions {
  const probed = readiness?.kind === "httpGet" ? readiness.field.at("path").text() : undefined;
  return {
    rate: ratePerSecond,
    pooledShare: 0.5,
    ...(isStandIn
      ? { slowShare: 0.03, paths: { slow: "/slow" } }
      : { paths: probed === undefined ? {} : { quick: probed } }),
    timeout: `${drain + 10}s`,
    maxDuration: "30m",
  };
}

function servedPortOf({ services: [service] }: AuditedWorkload): number | undefined {
  const [port] = service?.field.at("spec").at("ports").items() ?? [];
  const target = port?.at("targetPort").numberOrText() ?? port?.at("port").numberOrText();
  return typeof target === "number" ? target : undefined;
}
