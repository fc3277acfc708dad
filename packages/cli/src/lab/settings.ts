import { existsSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { parseDuration } from "@lameduck/drain";
import { exposedPort, parseImage, withImages, type FindImage } from "@lameduck/images";
import { initBinary } from "@lameduck/init";
import {
  findRemedy,
  remedies,
  usualRemedies,
  whyNoNamespaces,
  type App,
  type LabSettings,
  type Remedy,
} from "@lameduck/stage";
import {
  manifestFromCommand,
  type ContainerTemplate,
  type Workload,
  readManifest,
} from "@lameduck/manifests";
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

/**
 * Everything the lab needs, checked.
 * @param find - finds images; absent where it is only to be seen whether the options are right.
 * @throws coded errors that name the option or the line of the manifest.
 */
export async function labSettings(
  options: LabOptions,
  command: readonly string[],
  find?: FindImage,
): Promise<LabSettings> {
  checkResultFiles(options);
  const sample = options.file === undefined && options.image === undefined && command.length === 0;
  mustAgree(options, sample);
  mustNameImages(options);
  const written = await writtenWorkload(options, command, find);
  const workload = adjusted(find ? await onImages(written, options, command, find) : written, options);
  mustLeavePorts(options, workload);
  const app = appOf(workload, sample, options.image === undefined ? command[0] : undefined);
  const warmUp = parseDuration(options.warmUp, "--warm-up");
  const asked = load(options, sample);
  parseLoad(asked);
  return {
    workload,
    app,
    remedies: chosenRemedies(sample ? { remedies: "usual", ...options } : options, sample),
    asked: options.remedies !== undefined && options.remedies !== "usual",
    rollouts: options.rollouts,
    senders: parseSenders(
      options.senders ?? (options.protocol === "http" ? "l4:2,l7:1,client:1" : "l4:3,client:1"),
    ),
    propagation: parsePropagation(options.propagation, "--propagation"),
    load: asked,
    seed: 1,
    ...(options.env ? { env: options.env } : {}),
    warmUp,
  };
}

async function writtenWorkload(
  options: LabOptions,
  command: readonly string[],
  find: FindImage | undefined,
): Promise<Workload> {
  if (options.file !== undefined) return readWorkload(options.file, command);
  const [image] = options.image ?? [];
  return image === undefined
    ? fromCommand(options, command)
    : fromImage(options, command, parseImage(image).name, find);
}

/** Which images there are is known only now: notes say what came of it. */
async function onImages(
  workload: Workload,
  { file, image }: LabOptions,
  command: readonly string[],
  find: FindImage,
): Promise<Workload> {
  if (file !== undefined) mustBeOfManifest(workload, image ?? []);
  const because = await whyNoNamespaces();
  const isProgramGiven = file !== undefined && command.length > 0;
  const merged = await withImages(workload, find, {
    isProgramGiven,
    ownPrograms: image === undefined,
    because,
  });
  return { ...merged.workload, warnings: [...merged.notes, ...workload.warnings] };
}

/** A name that is written otherwise in the manifest would leave its container without the image, and without a word. */
function mustBeOfManifest({ template }: Workload, image: readonly string[]): void {
  const names = [...template.initContainers, ...template.containers].flatMap(
    ({ image: one }) => one?.name ?? [],
  );
  for (const text of image) {
    const { wanted } = parseImage(text);
    if (wanted !== undefined && !names.includes(wanted))
      throw badOption(
        `--image ${text}`,
        `the manifest has no image "${wanted}", but ${names.join(", ") || "none"}`,
      );
  }
}

function mustNameImages({ file, image = [] }: LabOptions): void {
  for (const text of image) {
    const { wanted } = parseImage(text);
    if (file !== undefined && wanted === undefined)
      throw badOption(
        `--image ${text}`,
        "with -f, write NAME=SOURCE, where NAME is an image of the manifest",
      );
  }
  if (file === undefined && image.length > 1) throw badOption("--image", "can be given once without -f");
}

/** The workload of an image: what a Deployment of it would be. */
async function fromImage(
  options: LabOptions,
  args: readonly string[],
  name: string,
  find: FindImage | undefined,
): Promise<Workload> {
  const exposed = options.port === undefined ? (await find?.(name))?.config : undefined;
  const port = options.port ?? (exposed && exposedPort(exposed));
  const workload = fromCommand({ ...options, ...(port === undefined ? {} : { port }) }, ["web"]);
  const [container] = workload.template.containers;
  const { env, ...rest } = container!;
  // The image knows its port, and where to listen: only what was asked for is said to it.
  const told = env.filter(
    (entry) => entry.name !== "HOST" && (entry.name !== "PORT" || options.port !== undefined),
  );
  return {
    ...workload,
    template: {
      ...workload.template,
      containers: [
        {
          ...rest,
          env: told,
          image: { name, place: "--image" },
          command: [],
          ...(args.length === 0 ? {} : { args: args.map((word) => word.replaceAll("$", () => "$$")) }),
        },
      ],
    },
  };
}

function fromCommand(options: LabOptions, command: readonly string[]): Workload {
  const argv =
    command.length > 0 ? command : ["node", fileURLToPath(new URL("../../samples/shop.js", import.meta.url))];
  const readinessPath = command.length > 0 ? undefined : "/ready";
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
  const taken = allow.find((one) => typeof one !== "string" && own.includes(one.port));
  if (typeof taken === "object")
    throw badOption("--allow", `port ${taken.port} is one that the pod itself listens on`);
}

function appOf({ template }: Workload, sample: boolean, given?: string): App {
  const [container] = template.containers;
  const command = container?.command ?? [];
  const root = container?.root;
  const program = given === undefined && root ? servingProgram(command) : basename(given ?? command[0] ?? "");
  return {
    kind: sample ? "sample" : program === "node" ? "node" : "other",
    program,
    ownInit: command.some((word) => /^lameduck-init(?:-\w+)?$/.test(basename(word))),
    graceSeconds: template.graceSeconds,
    ...builtInit(),
    register: import.meta.resolve("@lameduck/node/register"),
    ...(root ? { image: ofImage(container) } : {}),
  };
}

/** Entry points of images are scripts that become the program behind them. */
function servingProgram(command: readonly string[]): string {
  const names = command.map((word) => basename(word));
  return names.find((name) => /^(?:node|nginx|haproxy)$/.test(name)) ?? names[0] ?? "";
}

function ofImage({ stopSignal }: Pick<ContainerTemplate, "stopSignal">): NonNullable<App["image"]> {
  const register = fileURLToPath(import.meta.resolve("@lameduck/node/lameduck-register.cjs"));
  return {
    ...(stopSignal === undefined ? {} : { stopSignal }),
    ...(existsSync(register) ? { register } : {}),
  };
}

function chosenRemedies(
  { remedies: list = "nothing,adaptive" }: Pick<LabOptions, "remedies">,
  sample: boolean,
): Remedy[] {
  const names = list
    .split(",")
    .map((name) => name.trim())
    .flatMap((name) => (name === "usual" ? usual(sample) : [name]));
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

/** What the bundled server answers slowly, and at length. */
const ofSample = {
  slowShare: 0.05,
  largeShare: 0.01,
  paths: { slow: "/slow", large: "/large" },
  expect: { quick: { text: "hello\n" }, slow: { text: "slow\n" }, large: { bytes: 262_144 } },
} as const;

function load(options: LabOptions, sample: boolean): LoadOptions {
  return {
    ...requestOf(options),
    // A status that comes for the first time in a rollout is a consequence of it.
    learn: options.warmUp,
    protocol: options.protocol,
    rate: options.rps,
    pooledShare: options.pooled,
    ...(sample ? ofSample : { slowShare: 0, largeShare: 0 }),
    ...(options.path === undefined ? {} : { paths: { quick: options.path } }),
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
