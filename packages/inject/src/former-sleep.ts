import { disks, onlySleep, softwareOfImage, stopSignalOfImage, type OnlySleep } from "@lameduck/audit";
import { isMap } from "@lameduck/protocol";
import { cut } from "./policy/read.ts";
import { listIn, mapIn, mapsIn, pathIn, preStopOf, textOf, type PodView } from "./pod.ts";
import { isInitHook, ownLameduck, softwareOf } from "./software.ts";

type Raw = Readonly<Record<string, unknown>>;

const longestReason = 200;

/** A hook of a container's own that does nothing but sleep, and may begin a graceful stop behind that. */
export interface FormerSleep {
  readonly seconds: number;
  /** The signal that it then sends, for `--then`; undefined where it sends none, or the one that the kubelet sends next. */
  readonly signal?: string | undefined;
  readonly stops: boolean;
}

/** What is to be said of a container's hook that is kept. */
export type WhyKept = string;

/**
 * What each hook of a pod is, by the number of its container: a sleep in whose place a hold may come, or why it is kept.
 * @param asked whether sleeps are to be replaced, or else why they cannot be.
 */
export function hooksOf(view: PodView, asked: true | WhyKept): ReadonlyMap<number, FormerSleep | WhyKept> {
  const hooks = new Map<number, FormerSleep | WhyKept>();
  for (const [index, container] of view.containers.entries()) {
    const preStop = preStopOf(container);
    if (preStop !== undefined && !isInitHook(preStop))
      hooks.set(index, sleepIn(preStop, container, view.spec));
  }
  const others = view.containers.filter(
    (one, index) => typeof hooks.get(index) === "string" || isDecidingItself(one, view),
  );
  const [other] = others;
  // A sidecar's sleep is often as long as what the app's hook does: it would stop before that.
  const why =
    asked === true
      ? other && `it goes with ${textOf(other["name"])}, which has a hook or a Lameduck of its own`
      : asked;
  if (why === undefined) return hooks;
  return new Map(
    [...hooks].map(([index, one]) => [
      index,
      typeof one === "string" || one.seconds === 0
        ? one
        : `its preStop hook only sleeps, ${one.seconds} s; ${why}`,
    ]),
  );
}

/** Seconds of the longest sleep of a pod in whose place a hold could come; undefined where there is none, or a hook would stay. */
export function replaceableSleep(view: PodView): number | undefined {
  const hooks = view.isInjected ? [] : [...hooksOf(view, true).values()];
  const sleeps = hooks.flatMap((one) => (typeof one === "string" ? [] : [one.seconds]));
  const longest = Math.max(0, ...sleeps);
  return longest > 0 ? longest : undefined;
}

/** An injection before this one has told it the grace period: then the variables are ours. */
function isDecidingItself(container: Raw, { isInjected }: PodView): boolean {
  return !isInjected && ownLameduck(container) !== undefined;
}

function sleepIn(preStop: Raw, container: Raw, spec: Raw): FormerSleep | WhyKept {
  // It may name what a stranger has written.
  const kept = (because: string): WhyKept =>
    `its preStop hook is kept: ${cut(because, longestReason)}; @lameduck/node or lameduck-init as PID 1 would hold`;
  const sleep = preStop["sleep"];
  if (isMap(sleep) && Object.keys(preStop).length === 1) {
    const seconds = sleep["seconds"] ?? 0;
    return typeof seconds === "number" && Number.isInteger(seconds) && seconds >= 0
      ? { seconds, stops: false }
      : kept("how long it sleeps is not known");
  }
  const { exec } = preStop;
  const command = isMap(exec) ? listIn(exec["command"]) : [];
  if (!isMap(exec) || Object.keys(preStop).length > 1) return kept("it runs no command");
  if (command.length !== (Array.isArray(exec["command"]) ? exec["command"].length : 0))
    return kept("it runs no command");
  const found = onlySleep(command, valuesIn(container));
  if ("because" in found) return kept(found.because);
  const { seconds, stop } = found;
  if (stop === undefined) return { seconds, stops: false };
  const problem = whyNotGraceful(stop, container, spec);
  return problem === undefined
    ? { seconds, stops: true, signal: signalFor(stop.signal, container) }
    : kept(problem);
}

/** Variables whose values are certain; of two of one name the last counts. */
function valuesIn(container: Raw): ReadonlyMap<string, string> {
  return new Map(
    mapsIn(container["env"]).map(({ name, value, valueFrom }) => [
      textOf(name),
      // A reference to another variable is none that the shell resolves.
      valueFrom === undefined && !textOf(value).includes("$(") ? textOf(value) : "$",
    ]),
  );
}

/** Only a signal that is known to stop the container's program gracefully can be sent in place of the hook. */
function whyNotGraceful(stop: NonNullable<OnlySleep["stop"]>, container: Raw, spec: Raw): string | undefined {
  const software = softwareOf(container) ?? softwareOfImage(imageAlone(container));
  if (stop.by !== undefined)
    return software?.name === stop.by
      ? undefined
      : `it stops ${stop.by}, and nothing says that this is the container's first process`;
  if (spec["shareProcessNamespace"] === true)
    return "its signal goes to the pause process, since the pod's containers share their processes";
  if (stop.signal === software?.graceful) return undefined;
  // The kubelet sends it in any case.
  if (
    stop.signal === "SIGTERM" &&
    software?.graceful === undefined &&
    (nextSignal(container) ?? "SIGTERM") === "SIGTERM"
  )
    return undefined;
  return `it sends ${stop.signal}, and nothing says that its program stops gracefully at that`;
}

function imageAlone(container: Raw): string | undefined {
  return listIn(container["command"]).length > 0 ? undefined : pathIn(container["image"]);
}

/** What the kubelet sends, as far as that is known. */
function nextSignal(container: Raw): string | undefined {
  const own = mapIn(container["lifecycle"])["stopSignal"];
  return typeof own === "string" ? own : stopSignalOfImage(pathIn(container["image"]));
}

function signalFor(signal: string, container: Raw): string | undefined {
  return signal === "SIGTERM" || signal === nextSignal(container) ? undefined : signal.replace("SIG", "");
}

const mayHaveOneWriter: ReadonlySet<string> = new Set(["persistentVolumeClaim", ...disks]);

/**
 * Why the pod that comes after it may have to wait for its end: then a longer hold is a longer gap. undefined where nothing says so. Whether a
 * claim has several writers is not to be seen here.
 */
export function whyAwaited({ containers, volumes, owners }: PodView, kind?: string): string | undefined {
  if (kind === "StatefulSet" || owners.includes("StatefulSet")) return "it is of a StatefulSet";
  const ports = containers.flatMap(({ ports: all }) => mapsIn(all));
  if (ports.some(({ hostPort }) => typeof hostPort === "number" && hostPort > 0))
    return "its ports belong to the node";
  const isWritten = ([type, source]: [string, unknown]): boolean =>
    mayHaveOneWriter.has(type) && isMap(source) && source["readOnly"] !== true;
  if (volumes.some((one) => Object.entries(one).some(isWritten)))
    return "a volume of it may have one writer only";
  return undefined;
}
