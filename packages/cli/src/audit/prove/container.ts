import {
  delaySetting,
  drainSetting,
  factOf,
  ownStopOf,
  stopsGracefully,
  stopSignalOf,
  type Container,
  type Facts,
  type Workload,
} from "@lameduck/audit";
import { initBinary } from "@lameduck/init";
import { fileURLToPath } from "node:url";
import { isHere } from "./here.ts";

/** A container as the lab runs it, and what of it is not as the manifest says. */
export interface PlayedContainer {
  readonly manifest: Readonly<Record<string, unknown>>;
  readonly isStandIn: boolean;
  readonly note: string;
}

export interface Surroundings {
  readonly workload: Workload;
  readonly facts: Facts;
  readonly kubernetes: number | undefined;
  /** Where its Service leads, which need not be declared. */
  readonly servedPort: number | undefined;
  /** The program of the manifest did not start here. */
  readonly standInsOnly: boolean;
}

const standIn = fileURLToPath(new URL("../../../samples/stand-in.js", import.meta.url));
/** Seconds that requests to `/slow` take, where nobody says how long the longest takes. */
const usualDrainSeconds = 1;

/** The program itself where it is on this machine, else a server in its place that listens and stops as it would. */
export function playedContainer(container: Container, around: Surroundings): PlayedContainer {
  const { argv, field } = container;
  const ownInit = withOwnInit(argv ?? []);
  const workingDir = field.at("workingDir").text();
  if (!around.standInsOnly && argv !== undefined && isHere(ownInit, workingDir)) {
    return {
      manifest: {
        ...common(container),
        command: ownInit,
        ...(workingDir === undefined ? {} : { workingDir }),
        ...probesOf(container, (probe) => probe),
        lifecycle: lifecycleAsWritten(container, around.kubernetes),
      },
      isStandIn: false,
      note: `${container.name}: ${argv.join(" ")}, as this machine has it`,
    };
  }
  return inItsPlace(container, around);
}

function inItsPlace(container: Container, around: Surroundings): PlayedContainer {
  const { name, argv, software } = container;
  const { workload, facts } = around;
  const own = ownStopOf(container);
  const graceful = isGraceful(container, around.kubernetes);
  const behindShell = own?.by !== "init" && swallows(container);
  const delay = (factOf(workload, "delay", facts) ?? delaySetting(container)?.amount)?.value ?? 0;
  const drain = drainOf(container, around);
  const ports = portsOf(container, around.servedPort);
  const server = [
    process.execPath,
    ...(own?.by === "library" ? ["--import", import.meta.resolve("@lameduck/node/register")] : []),
    standIn,
  ];
  const command =
    own?.by === "init"
      ? [...withOwnInit(own.argv.slice(0, innerStart(own.argv))), ...server]
      : behindShell
        ? ["sh", "-c", '"$0" "$@"; exit $?', ...server]
        : server;
  const manifest = {
    ...common(container),
    command,
    env: [
      ...literals(container).filter(({ name: key }) => key !== "NODE_OPTIONS"),
      { name: "STAND_IN_PORTS", value: ports.join(",") },
      { name: "STAND_IN_TERM", value: own?.by === "library" ? "none" : graceful ? "graceful" : "abrupt" },
      { name: "STAND_IN_DELAY", value: String(delay * 1_000) },
      { name: "STAND_IN_SLOW", value: String(drain * 1_000) },
    ],
    ...probesOf(container, (probe) => probeOfStandIn(probe, ports)),
    ...(container.hook ? { lifecycle: { preStop: hookOfStandIn(container) } } : {}),
  };
  const program = argv === undefined ? `what ${container.image ?? "its image"} runs` : argv.join(" ");
  const stop = behindShell
    ? "behind a shell that keeps SIGTERM to itself"
    : graceful
      ? "that stops gracefully"
      : `that ends at SIGTERM, as ${software?.name ?? "it"} does`;
  return {
    manifest,
    isStandIn: true,
    note: `${name}: a stand-in for ${program}, on port ${ports.join(", ") || "none"}, ${stop}`,
  };
}

/** How long its longest request takes, seconds. */
export function drainOf(container: Container, { workload, facts }: Surroundings): number {
  return (factOf(workload, "drain", facts) ?? drainSetting(container)?.amount)?.value ?? usualDrainSeconds;
}

function isGraceful(container: Container, kubernetes: number | undefined): boolean {
  const { software, argv = [], env } = container;
  if (software === undefined) return true;
  const words = [...argv, ...[...env].map(([key, value]) => `${key}=${value}`)].join(" ");
  if (software.remapped?.test(words)) return true;
  return software.graceful !== undefined && stopSignalOf(container, kubernetes)?.signal === software.graceful;
}

function swallows(container: Container): boolean {
  const pidOne = container.served?.pidOne;
  return pidOne !== undefined && pidOne.certainty !== "unknown" && pidOne.behind === undefined;
}

function common({ name, ports, field }: Container): Record<string, unknown> {
  return {
    name,
    ports: ports.map(({ name: portName, number }) => ({
      containerPort: number,
      ...(portName === undefined ? {} : { name: portName }),
    })),
    env: environmentOf(field),
  };
}

/** What comes from Secrets and ConfigMaps is not here. */
function environmentOf(field: Container["field"]): unknown[] {
  return field
    .at("env")
    .items()
    .filter((one) => !one.at("valueFrom").exists || one.at("valueFrom").at("fieldRef").exists)
    .map((one) => one.plain());
}

function literals({ env }: Container): { name: string; value: string }[] {
  return [...env].map(([name, value]) => ({ name, value }));
}

function portsOf({ ports, startup, liveness, readiness }: Container, served: number | undefined): number[] {
  const probed = [startup, liveness, readiness].map((probe) => probe?.field.at("port").numberOrText());
  const numbers = [...ports.map(({ number }) => number), ...probed, served];
  return [...new Set(numbers.filter((port) => typeof port === "number"))];
}

type Plain = Record<string, unknown>;

function probesOf(container: Container, change: (probe: Plain) => Plain): Plain {
  const { startup, liveness, readiness } = container;
  const probes = { startupProbe: startup, livenessProbe: liveness, readinessProbe: readiness };
  return Object.fromEntries(
    Object.entries(probes).flatMap(([key, probe]) =>
      probe === undefined ? [] : [[key, change(probe.whole.plain() as Plain)]],
    ),
  );
}

/** What it asks by a program or by gRPC is asked by a connection. A stand-in needs no time to start. */
function probeOfStandIn({ exec, grpc, httpGet, ...rest }: Plain, [port = 0]: readonly number[]): Plain {
  const asked = httpGet as Plain | undefined;
  return {
    ...rest,
    ...(exec || grpc ? { tcpSocket: { port } } : {}),
    ...(asked ? { httpGet: { ...asked, scheme: "HTTP" } } : {}),
    initialDelaySeconds: 0,
    periodSeconds: 1,
  };
}

/** The lifecycle of a program that is here: as written, with the signal that its image may set. */
function lifecycleAsWritten(container: Container, kubernetes: number | undefined): Plain {
  const { lifecycle, hook } = container;
  const signal = stopSignalOf(container, kubernetes)?.signal ?? "SIGTERM";
  const postStart = lifecycle.at("postStart");
  return {
    ...(postStart.exists ? { postStart: postStart.plain() } : {}),
    ...(hook ? { preStop: hookAsWritten(container) } : {}),
    ...(signal === "SIGTERM" ? {} : { stopSignal: signal }),
  };
}

function hookAsWritten({ lifecycle, hook }: Container): Plain {
  const preStop = lifecycle.at("preStop").plain() as Plain;
  return hook?.kind === "exec" ? { exec: { command: withOwnInit(hook.command) } } : preStop;
}

/** Programs of a hook are not here: what is known of it is how long it takes, and whether it begins the graceful stop. */
function hookOfStandIn(container: Container): Plain {
  const { hook, software } = container;
  if (hook === undefined || hook.kind === "sleep") return hookAsWritten(container);
  if (ownStopOf(container)?.by === "wait hook") return hookAsWritten(container);
  const stops = software && stopsGracefully(software, hook, container.isPidShared) ? "; kill -QUIT 1" : "";
  return { exec: { command: ["sh", "-c", `sleep ${hook.least.value}${stops}`] } };
}

function withOwnInit(argv: readonly string[]): readonly string[] {
  const [program = "", ...rest] = argv;
  return program.endsWith("lameduck-init") ? [initBinary(), ...rest] : argv;
}

/** Where the program begins behind the options of an init. */
function innerStart(argv: readonly string[]): number {
  const end = argv.indexOf("--");
  return end === -1 ? argv.length : end + 1;
}
