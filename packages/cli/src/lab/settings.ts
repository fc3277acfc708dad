import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { parseDuration } from "@lameduck/drain";
import { initBinary } from "@lameduck/init";
import {
  findRemedy,
  remedies,
  usualRemedies,
  type App,
  type LabSettings,
  type Remedy,
} from "@lameduck/stage";
import { manifestFromCommand, type Workload, readManifest } from "@lameduck/manifests";
import { parseLoad, parsePropagation, type LoadOptions } from "@lameduck/load";
import { badOption, CliError } from "../errors.ts";
import { textOf } from "../input.ts";
import { requestOf } from "../request-options.ts";
import { checkResultFiles } from "../results.ts";
import { mustAgree } from "./contradictions.ts";
import type { LabOptions } from "./options.ts";
import { parseSenders } from "./senders.ts";
import { fileProblem } from "@lameduck/drain/common";

/** Long comparisons of many rollouts are meant; a load that never ends is not. */
const longestLoad = "60m";

/** Kubernetes' own ten minutes are too long for a person who waits in front of a terminal. */
const longestWaitSeconds = 90;

/** Everything the lab needs, checked. @throws coded errors that name the option or the line of the manifest. */
export async function labSettings(options: LabOptions, command: readonly string[]): Promise<LabSettings> {
  checkResultFiles(options);
  const sample = options.file === undefined && command.length === 0;
  mustAgree(options, sample);
  const workload = adjusted(
    options.file === undefined ? fromCommand(options, command) : await readWorkload(options.file, command),
    options,
  );
  mustLeavePorts(options, workload);
  const app = appOf(workload, sample, command[0]);
  const warmUp = parseDuration(options.warmUp, "--warm-up");
  const asked = load(options, sample);
  parseLoad(asked);
  return {
    workload,
    app,
    remedies: chosenRemedies(options, sample),
    asked: (options.remedies ?? options.policy) !== undefined,
    rollouts: options.rollouts,
    senders: parseSenders(
      options.senders ?? (options.protocol === "http" ? "l4:2,l7:1,client:1" : "l4:3,client:1"),
    ),
    propagation: parsePropagation(options.propagation, "--propagation"),
    load: asked,
    seed: options.seed,
    ...(options.env ? { env: options.env } : {}),
    warmUp,
  };
}

function fromCommand(options: LabOptions, command: readonly string[]): Workload {
  const argv =
    command.length > 0 ? command : ["node", fileURLToPath(new URL("../../samples/shop.js", import.meta.url))];
  const readinessPath = options.readyPath ?? (command.length > 0 ? undefined : "/ready");
  return manifestFromCommand(argv, {
    replicas: 4,
    ...(options.port === undefined ? {} : { port: options.port }),
    ...(readinessPath === undefined ? {} : { readinessPath }),
  });
}

function adjusted(workload: Workload, { replicas, grace }: LabOptions): Workload {
  return {
    ...workload,
    replicas: replicas ?? workload.replicas,
    progressDeadlineSeconds: Math.min(workload.progressDeadlineSeconds, longestWaitSeconds),
    template: {
      ...workload.template,
      graceSeconds: grace === undefined ? workload.template.graceSeconds : wholeSeconds(grace, "--grace"),
    },
  };
}

/** Kubernetes knows grace periods in whole seconds only. */
function wholeSeconds(text: string, option: string): number {
  const seconds = parseDuration(text, option) / 1_000;
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 3_600)
    throw badOption(option, `"${text}" is not a whole number of seconds from 1s to 3600s`);
  return seconds;
}

/** A listener here would keep the program from listening on its port. */
function mustLeavePorts({ allow = [] }: LabOptions, { template }: Workload): void {
  const own = [template.port, ...template.containers.flatMap(({ ports }) => ports.map(({ port }) => port))];
  const taken = allow.find(({ port }) => own.includes(port));
  if (taken) throw badOption("--allow", `port ${taken.port} is one that the pod itself listens on`);
}

function appOf({ template }: Workload, sample: boolean, given?: string): App {
  const program = basename(given ?? template.containers[0]?.command[0] ?? "");
  return {
    kind: sample ? "sample" : program === "node" ? "node" : "other",
    program,
    graceSeconds: template.graceSeconds,
    ...builtInit(),
    register: import.meta.resolve("@lameduck/node/register"),
  };
}

function chosenRemedies({ compare, remedies: list, policy }: LabOptions, sample: boolean): Remedy[] {
  const names =
    (list ?? policy)?.split(",").map((name) => name.trim()) ??
    (compare || sample ? usual(sample) : ["nothing", "adaptive"]);
  return [...new Set(names)].map((name) => {
    const remedy = findRemedy(name);
    if (!remedy)
      throw new CliError(
        "LAMEDUCK_UNKNOWN_REMEDY",
        "--remedies",
        `"${name}" is none of ${[...remedies.map((one) => one.name), "sleep-N"].join(", ")}`,
      );
    return remedy;
  });
}

/** A comparison leaves out remedies that only the sample server has. */
function usual(sample: boolean): readonly string[] {
  return usualRemedies.filter((name) => sample || !findRemedy(name)?.sampleOnly);
}

function load(options: LabOptions, sample: boolean): LoadOptions {
  const slowPath = options.slowPath ?? (sample ? "/slow" : undefined);
  const largePath = options.largePath ?? (sample ? "/large" : undefined);
  return {
    ...requestOf(options),
    // A status that comes for the first time in a rollout is a consequence of it.
    learn: options.warmUp,
    protocol: options.protocol,
    rate: options.rps,
    pooledShare: options.pooled,
    slowShare: slowPath === undefined ? 0 : (options.slow ?? 0.05),
    largeShare: largePath === undefined ? 0 : (options.large ?? 0.01),
    paths: {
      ...(options.path === undefined ? {} : { quick: options.path }),
      ...(slowPath === undefined ? {} : { slow: slowPath }),
      ...(largePath === undefined ? {} : { large: largePath }),
    },
    ...(sample
      ? { expect: { quick: { text: "hello\n" }, slow: { text: "slow\n" }, large: { bytes: 262_144 } } }
      : {}),
    maxDuration: longestLoad,
    maxRequests: 20_000_000,
  };
}

/** Remedies for software other than Node need it; everything else does not. */
function builtInit(): { init?: string } {
  try {
    return { init: initBinary() };
  } catch {
    return {};
  }
}

/** The workload of a manifest; `-` is stdin. A command takes the place of its image. */
async function readWorkload(file: string, command: readonly string[]): Promise<Workload> {
  const text = await textOf(file).catch((error: unknown) => {
    throw badOption(`--file ${file}`, fileProblem(error));
  });
  return readManifest(text, file, command.length > 0 ? command : undefined);
}
