import {
  convergenceOf,
  exposureOf,
  servingContainers,
  spell,
  type AuditOptions,
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
}

const rate = 100;
/** Where no Service of the input says who sends. */
const usualConvergence = 10;

/** Why nothing of it can be rolled; undefined where it can. */
export function whyNotPlayed(workload: AuditedWorkload): string | undefined {
  const { kind } = workload.object;
  if (exposureOf(workload) === "none") return "nobody sends it requests";
  if (["Job", "CronJob"].includes(kind)) return `a ${kind} has no rollout`;
  return undefined;
}

/** @throws {ManifestError} for what the lab cannot run. */
export function played(
  workload: AuditedWorkload,
  { facts, kubernetes }: Pick<AuditOptions, "facts" | "kubernetes">,
  standInsOnly: boolean,
): Played {
  const [serving] = servingContainers(workload);
  const around = (isServing: boolean): Surroundings => ({
    workload,
    facts,
    kubernetes,
    servedPort: isServing ? servedPortOf(workload) : undefined,
    standInsOnly,
  });
  const mains = workload.containers.map((one) => playedContainer(one, around(one === serving)));
  const sidecars = workload.sidecars.map((one) => playedContainer(one, around(false)));
  const all = [...mains, ...sidecars];
  const convergence = convergenceOf(workload, facts);
  const seconds = convergence?.amount.value ?? usualConvergence;
  const [main] = mains;
  const isStandIn =
    mains.find((_, index) => workload.containers[index] === serving)?.isStandIn ?? main?.isStandIn;
  const drain = serving ? drainOf(serving, around(true)) : 0;
  const readiness = serving?.readiness;
  const path = isStandIn
    ? undefined
    : readiness?.kind === "httpGet"
      ? readiness.field.at("path").text()
      : undefined;
  return {
    workload: readManifest(JSON.stringify(documentsOf(workload, mains, sidecars)), spell(workload.object)),
    propagation: parsePropagation(`exactly ${seconds / 2}s..${seconds * 0.9}s`, "convergence"),
    load: {
      rate,
      pooledShare: 0.5,
      slowShare: isStandIn ? 0.03 : 0,
      paths: { ...(path === undefined ? {} : { quick: path }), ...(isStandIn ? { slow: "/slow" } : {}) },
      timeout: `${drain + 10}s`,
      maxDuration: "30m",
    },
    notes: [
      ...all.map(({ note }) => note),
      `senders let go of a deleted pod after ${seconds / 2} to ${seconds * 0.9} s, ${
        convergence?.sender
          ? `as ${convergence.sender.name} would`
          : convergence
            ? "as told"
            : "an assumption: no Service is in the input"
      }`,
    ],
    hasRealPrograms: all.some((one) => !one.isStandIn),
  };
}

function servedPortOf({ services: [service] }: AuditedWorkload): number | undefined {
  const [port] = service?.field.at("spec").at("ports").items() ?? [];
  const target = port?.at("targetPort").numberOrText() ?? port?.at("port").numberOrText();
  return typeof target === "number" ? target : undefined;
}
