import {
  drainSetting,
  factOf,
  stopSignalOf,
  type AuditOptions,
  type Container,
  type Workload,
} from "@lameduck/audit";
import { initBinary } from "@lameduck/init";
import type { Field } from "@lameduck/manifests";
import { isHere } from "./here.ts";

export interface Surroundings extends Pick<AuditOptions, "facts" | "kubernetes"> {
  readonly workload: Workload;
  /** Names of images that this machine has. */
  readonly images: ReadonlySet<string>;
  /** Programs of this machine may run: what they write is discarded. */
  readonly ownPrograms: boolean;
}

type Plain = Record<string, unknown>;

/** Where an image finds lameduck-init, if the manifest runs it from an injected volume. */
export const initInImage = "/lameduck/lameduck-init";

/** Seconds that the longest request takes, where nobody says it. */
const usualDrainSeconds = 1;

/** Why a container cannot be run here, with what would be needed; undefined where it can. */
export function whyNotRun({ name, image, argv, field }: Container, around: Surroundings): string | undefined {
  const { images, ownPrograms } = around;
  if (image !== undefined && images.has(image)) return undefined;
  const isProgramHere = argv !== undefined && isHere(withOwnInit(argv, false), field.at("workingDir").text());
  if (isProgramHere && ownPrograms) return undefined;
  const needed =
    image === undefined ? "give the container an image" : `pull it, or give --image ${image}=FILE`;
  const what = image === undefined ? "its program" : `the image ${image}`;
  return `container ${name}: ${what} is not on this machine; ${needed}`;
}

/** The container as the lab reads it: as written, less what is not here. */
export function containerManifest(container: Container, around: Surroundings): Plain {
  const { name, image, field, ports, argv } = container;
  const isImage = image !== undefined && around.images.has(image);
  const command = field.at("command").texts();
  return {
    name,
    ports: ports.map(({ name: portName, number }) => ({
      containerPort: number,
      ...(portName === undefined ? {} : { name: portName }),
    })),
    ...(isImage
      ? {
          image,
          ...(command.length === 0 ? {} : { command: withOwnInit(command, true) }),
          ...asWritten(field, "args"),
        }
      : { command: withOwnInit(argv ?? [], false) }),
    ...asWritten(field, "env", "envFrom", "workingDir", "securityContext", "volumeMounts"),
    ...probesOf(container),
    lifecycle: lifecycleOf(container, isImage, around.kubernetes),
  };
}

/** How long its longest request takes, seconds. */
export function drainOf(container: Container, { workload, facts }: Surroundings): number {
  return (factOf(workload, "drain", facts) ?? drainSetting(container)?.amount)?.value ?? usualDrainSeconds;
}

export function asWritten(field: Field, ...keys: string[]): Plain {
  const there = keys.filter((key) => field.at(key).exists);
  return Object.fromEntries(there.map((key) => [key, field.at(key).plain()]));
}

/** The lab asks no gRPC: such a port is asked by a connection. */
function probesOf({ startup, liveness, readiness }: Container): Plain {
  const probes = { startupProbe: startup, livenessProbe: liveness, readinessProbe: readiness };
  return Object.fromEntries(
    Object.entries(probes).flatMap(([key, probe]) => {
      if (probe === undefined) return [];
      const { grpc, ...rest } = probe.whole.plain() as Plain;
      return [[key, grpc ? { ...rest, tcpSocket: { port: (grpc as Plain)["port"] } } : rest]];
    }),
  );
}

/** An image brings its own STOPSIGNAL. Of a program of this machine it is what the audit was told. */
function lifecycleOf(container: Container, isImage: boolean, kubernetes: number | undefined): Plain {
  const { lifecycle, hook } = container;
  const { signal = "SIGTERM", from } = stopSignalOf(container, kubernetes) ?? {};
  const isSet = isImage ? from === "lifecycle.stopSignal" : signal !== "SIGTERM";
  return {
    ...asWritten(lifecycle, "postStart"),
    ...(hook ? { preStop: hookOf(container, isImage) } : {}),
    ...(isSet ? { stopSignal: signal } : {}),
  };
}

function hookOf({ lifecycle, hook }: Container, isImage: boolean): unknown {
  return hook?.kind === "exec"
    ? { exec: { command: withOwnInit(hook.command, isImage) } }
    : lifecycle.at("preStop").plain();
}

/** An injected init comes by a volume of the cluster. */
function withOwnInit(argv: readonly string[], isImage: boolean): readonly string[] {
  const [program = "", ...rest] = argv;
  return program.endsWith("lameduck-init") ? [isImage ? initInImage : initBinary(), ...rest] : argv;
}
