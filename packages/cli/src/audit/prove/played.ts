import {
  convergenceOf,
  exposureOf,
  servingContainers,
  spell,
  type AuditOptions,
  type Container,
  type Inventory,
  type Workload as AuditedWorkload,
} from "@lameduck/audit";
import { parsePropagation, type LoadOptions, type Propagation } from "@lameduck/load";
import { withImages, type FindImage } from "@lameduck/images";
import { initBinary } from "@lameduck/init";
import { readManifest, type ContainerTemplate, type Workload } from "@lameduck/manifests";
import { containerManifest, drainOf, initInImage, whyNotRun, type Surroundings } from "./container.ts";
import { documentsOf } from "./documents.ts";

/** A workload as the lab rolls it. */
export interface Played {
  readonly workload: Workload;
  readonly propagation: Propagation;
  readonly load: LoadOptions;
  /** What runs, and what its senders do. */
  readonly notes: readonly string[];
}

/** What a rollout of a workload needs of this machine. */
export interface Machine extends Pick<AuditOptions, "facts" | "kubernetes"> {
  readonly find: FindImage;
  /** Of the input. */
  readonly objects: Inventory["objects"];
  /** Programs of this machine may run: what they write is discarded. */
  readonly ownPrograms: boolean;
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

/** @throws {Error} where a container cannot be run here. @throws {ManifestError | ImageError} for what the lab cannot run at all. */
export async function played(
  workload: AuditedWorkload,
  { facts, kubernetes, find, objects, ownPrograms }: Machine,
): Promise<Played> {
  const serving = servingContainers(workload)[0]!;
  const all = [...workload.containers, ...workload.sidecars];
  const names = [...new Set(all.flatMap(({ image }) => image ?? []))];
  const found = await Promise.all(names.map(async (name) => ((await find(name)) ? [name] : [])));
  const around: Surroundings = { workload, facts, kubernetes, images: new Set(found.flat()), ownPrograms };
  const missing = all.flatMap((one) => whyNotRun(one, around) ?? []);
  if (missing.length > 0) throw new Error(missing.join("; "));
  const mains = workload.containers.map((one) => containerManifest(one, around));
  const sidecars = workload.sidecars.map((one) => containerManifest(one, around));
  const text = JSON.stringify(documentsOf(workload, mains, sidecars, objects));
  const merged = await withImages(readManifest(text, spell(workload.object)), find, { ownPrograms });
  const senders = sendersOf(workload, facts);
  const own = all.filter(({ image }) => !around.images.has(image ?? ""));
  return {
    workload: withInit(merged.workload),
    propagation: senders.propagation,
    load: loadOf(serving, drainOf(serving, around)),
    notes: [
      ...merged.notes.filter((note) => note.includes(" runs the image ")),
      ...own.map(({ name, argv = [] }) => `container ${name} runs ${argv.join(" ")}, as this machine has it`),
      ...notRun(workload),
      senders.note,
    ],
  };
}

/** They wait for what is not here, or prepare what is. */
function notRun({ template }: AuditedWorkload): string[] {
  return template
    .at("spec")
    .at("initContainers")
    .items()
    .filter((one) => one.at("restartPolicy").text() !== "Always")
    .map((one) => `init container ${one.at("name").text() ?? "?"} is not run`);
}

/** What an injected volume brings in a cluster. */
function withInit(workload: Workload): Workload {
  const { template } = workload;
  const put = <T extends ContainerTemplate>(container: T): T => {
    const { root, command, preStop } = container;
    const hook = preStop?.kind === "exec" ? preStop.command : [];
    if (!root || ![command[0], hook[0]].includes(initInImage)) return container;
    return { ...container, root: { ...root, files: [{ from: initBinary(), to: initInImage }] } };
  };
  const { containers, initContainers } = template;
  return {
    ...workload,
    template: { ...template, containers: containers.map(put), initContainers: initContainers.map(put) },
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
    note: `senders stop sending to a deleted pod after ${from} to ${to} s, ${because}`,
  };
}

/** It is asked where its readiness probe asks: that path is there. */
function loadOf({ readiness }: Container, drain: number): LoadOptions {
  const probed = readiness?.kind === "httpGet" ? readiness.field.at("path").text() : undefined;
  return {
    rate: ratePerSecond,
    pooledShare: 0.5,
    paths: probed === undefined ? {} : { quick: probed },
    timeout: `${drain + 10}s`,
    maxDuration: "30m",
  };
}
