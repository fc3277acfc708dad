import { handedOn, options } from "@lameduck/options";
import {
  isMap,
  initVolumePath,
  initFile,
  formerSleepAnnotation,
  injectedAnnotation,
} from "@lameduck/protocol";
import { initVolumeContainer, reservedNames, reservedPaths } from "../init-volume.ts";
import { loader } from "../node-options.ts";
import { listIn, mapsIn, podOf, preStopOf, textOf, undoAnnotation, type PodView } from "../pod.ts";
import { longestSeconds } from "../times.ts";
import { probePeriodVariable } from "../variables.ts";
import { emptiesIn, type Empties } from "./empties.ts";

type Raw = Readonly<Record<string, unknown>>;

/** What of a container an injection has written: numbers in its lists, and fields. */
export interface ContainerRemoval {
  readonly index: number;
  readonly hook: boolean;
  readonly env: ReadonlySet<number>;
  readonly mounts: ReadonlySet<number>;
  /** A variable that gets back the value that it had. */
  readonly changed: { readonly at: number; readonly value: string } | undefined;
}

/** What of a pod template an injection has written. */
export interface Removal {
  readonly containers: readonly ContainerRemoval[];
  readonly volumes: ReadonlySet<number>;
  readonly initContainers: ReadonlySet<number>;
  /** A number: the value from before. "absent": there was none. undefined: it stays as it is. */
  readonly grace: number | "absent" | undefined;
  readonly annotations: ReadonlySet<string>;
  readonly empties: Empties;
  /** What looks like an injection's and was changed since: it stays. */
  readonly kept: readonly string[];
}

/** Those that an injection adds to manifests. */
const variables = new Set<string>([
  options.grace.variable,
  options.prestop.variable,
  probePeriodVariable,
  options.cap.variable,
  ...handedOn.map(({ variable }) => variable),
  "NODE_OPTIONS",
]);

/** @returns undefined where no injection has been here. */
export function removalOf(template: unknown): Removal | undefined {
  const view = podOf(template);
  if ("code" in view || !view.isInjected) return undefined;
  const kept: string[] = [];
  const undone = textOf(view.annotations[undoAnnotation]);
  const undo = undoOf(undone);
  const containers = view.containers.map((container, index) =>
    ofContainer(container, index, undo, view, kept),
  );
  const isCarried = containers.some(({ mounts }) => mounts.size > 0);
  const ours = (all: readonly Raw[], isOurs: (one: Raw) => boolean): ReadonlySet<number> =>
    new Set(isCarried ? [...all.keys()].filter((index) => isOurs(all[index] ?? {})) : []);
  return {
    containers,
    volumes: ours(view.volumes, ({ name }) => reservedNames.includes(textOf(name))),
    initContainers: ours(mapsIn(view.spec["initContainers"]), ({ name }) => name === initVolumeContainer),
    grace: graceBefore(view, undo, kept),
    annotations: new Set(
      [injectedAnnotation, formerSleepAnnotation, undoAnnotation].filter((one) => one in view.annotations),
    ),
    empties: emptiesIn(undone),
    kept,
  };
}

interface Undo {
  readonly set: number | undefined;
  readonly before: number | "absent" | undefined;
  /** How many variables each container got. */
  readonly variables: ReadonlyMap<string, number>;
  /** Names of containers that got a hook. */
  readonly hooked: readonly string[];
}

function undoOf(text: string): Undo {
  const [, set, before] = /^grace (\d{1,9}) was (-?\d{1,9}|absent)/.exec(text) ?? [];
  const [, counts = ""] = /(?:^|; )variables ([^;]+)/.exec(text) ?? [];
  const [, names = ""] = /(?:^|; )hooks ([^;]+)/.exec(text) ?? [];
  return {
    set: set === undefined ? undefined : Number(set),
    before: before === undefined || before === "absent" ? before : Number(before),
    variables: new Map(
      [...counts.matchAll(/(\S+) (\d+)/g)].map(([, name = "", count]) => [name, Number(count)]),
    ),
    hooked: names.split(" "),
  };
}

function ofContainer(
  container: Raw,
  index: number,
  { hooked, variables: added }: Undo,
  { spec }: PodView,
  kept: string[],
): ContainerRemoval {
  const env = Array.isArray(container["env"]) ? (container["env"] as unknown[]) : [];
  const mounts = Array.isArray(container["volumeMounts"]) ? (container["volumeMounts"] as unknown[]) : [];
  const name = textOf(container["name"]);
  const hook = hooked.includes(name) ? ourHook(container) : undefined;
  const own = ownVariables(env, added.get(name) ?? 0, hook, spec["terminationGracePeriodSeconds"]);
  const at = env.findIndex((one) => isMap(one) && one["name"] === "NODE_OPTIONS");
  const options = isMap(env[at]) ? textOf(env[at]["value"]) : "";
  if (hooked.includes(name) && hook === undefined)
    kept.push(`${name}: its preStop hook is not as it was injected`);
  if (own.size < (added.get(name) ?? 0)) kept.push(`${name}: not all variables are as they were injected`);
  return {
    index,
    hook: hook !== undefined,
    env: own,
    mounts: new Set(
      hook !== undefined || options.endsWith(loader)
        ? [...mounts.keys()].filter((one) => isOurMount(mounts[one]))
        : [],
    ),
    changed:
      !own.has(at) && options.endsWith(` ${loader}`)
        ? { at, value: options.slice(0, -loader.length - 1) }
        : undefined,
  };
}

/** The seconds of a hook that an injection wrote, in the words of its variable. Undefined where the hook is another one by now. */
function ourHook(container: Raw): string | undefined {
  const { exec, sleep } = preStopOf(container) ?? {};
  if (isMap(sleep)) return `${String(sleep["seconds"])}s`;
  const command = isMap(exec) ? listIn(exec["command"]) : [];
  if (command[0] !== `${initVolumePath}/${initFile}` || command[1] !== "wait") return undefined;
  return command[command.indexOf(`--${options.cap.init.flag}`) + 1] ?? "";
}

/** As many as were added, from the end of the list, with values that an injection writes. */
function ownVariables(
  env: readonly unknown[],
  count: number,
  hook: string | undefined,
  grace: unknown,
): ReadonlySet<number> {
  const expected: Readonly<Record<string, string | undefined>> = {
    NODE_OPTIONS: loader,
    [options.prestop.variable]: hook,
    [options.grace.variable]: typeof grace === "number" ? `${Math.min(grace, longestSeconds)}s` : undefined,
  };
  const named = [...env.keys()].filter((at) => {
    const one = env[at];
    const [name, value] = isMap(one) ? [textOf(one["name"]), textOf(one["value"])] : ["", ""];
    return variables.has(name) && (expected[name] ?? value) === value;
  });
  return new Set(count === 0 ? [] : named.slice(-count));
}

function isOurMount(mount: unknown): boolean {
  return (
    isMap(mount) &&
    reservedNames.includes(textOf(mount["name"])) &&
    reservedPaths.includes(textOf(mount["mountPath"]))
  );
}

/** What the annotation remembers, unless somebody has set another grace period since. */
function graceBefore({ spec }: PodView, { set, before }: Undo, kept: string[]): Removal["grace"] {
  if (before === undefined || spec["terminationGracePeriodSeconds"] === set) return before;
  kept.push("terminationGracePeriodSeconds is not as it was injected");
  return undefined;
}
