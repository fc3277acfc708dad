import { dirname } from "node:path/posix";
import { operatorNames } from "@lameduck/protocol";
import type { Workload } from "@lameduck/kube";
import { badOption } from "../errors.ts";

/** What the watcher of a node may read, as the chart's `acknowledgements.watcher.consumer` takes it. */
const known = /^(?:kube-proxy(?:=(?:iptables|nftables|ipvs|metrics(?:,\S+)?))?|cilium(?:=\/[\w./-]+)?)$/;
const flag = "--consumer=";
const usualSocket = "/run/cilium/cilium.sock";

export const usualNodeReader = "kube-proxy";

/** @throws {CliError} LAMEDUCK_BAD_OPTION */
export function mustBeNodeReader(reader: string): string {
  if (known.test(reader)) return reader;
  throw badOption("--node-reader", `"${reader}" is neither kube-proxy[=MODE] nor cilium[=SOCKET]`);
}

/** What the watchers that are there read. */
export function nodeReaderOf(watcher: Workload | undefined): string | undefined {
  const args = (watcher?.spec.template.spec.containers ?? []).flatMap(
    (one) => (one as { readonly args?: readonly string[] }).args ?? [],
  );
  return args.find((one) => one.startsWith(flag))?.slice(flag.length);
}

interface Applied {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly [field: string]: unknown;
}

const isNodeWatcher = ({ kind, metadata }: Applied): boolean =>
  kind === "DaemonSet" && metadata.name === operatorNames.watcher.workload;

interface OfDaemonSet {
  readonly template: {
    readonly spec: {
      readonly containers: {
        args: string[];
        readonly volumeMounts: object[];
        readonly securityContext: { readonly capabilities: { add?: string[] } };
      }[];
      readonly volumes: object[];
    };
  };
}

/** The watcher of each node with another reader, and the coordinator that takes its reports, as the chart renders them. */
export function readingBy<T extends Applied>(object: T, reader: string): T {
  if (isNodeWatcher(object)) return watching(object, reader);
  const { coordinator, watcher } = operatorNames;
  if (object.kind !== "Deployment" || object.metadata.name !== coordinator.workload) return object;
  const own = `--consumer-account=${watcher.namespace}/${watcher.workload}=`;
  const spec = structuredClone(object["spec"]) as Pick<OfDaemonSet, "template">;
  for (const container of spec.template.spec.containers)
    container.args = container.args.map((one) => (one.startsWith(own) ? own + kindOf(reader) : one));
  return { ...object, spec };
}

/** "cilium" of "cilium=SOCKET". */
const kindOf = (reader: string): string => reader.split("=")[0] ?? "";

function watching<T extends Applied>(watcher: T, reader: string): T {
  const spec = structuredClone(watcher["spec"]) as OfDaemonSet;
  const [, socket = usualSocket] = reader.split("=");
  for (const container of spec.template.spec.containers) {
    container.args = container.args.map((one) => (one.startsWith(flag) ? `${flag}${reader}` : one));
    if (!reader.startsWith("cilium")) continue;
    delete container.securityContext.capabilities.add;
    container.volumeMounts.push({ name: "cilium", mountPath: dirname(socket), readOnly: true });
    spec.template.spec.volumes.unshift({
      name: "cilium",
      hostPath: { path: dirname(socket), type: "Directory" },
    });
  }
  return { ...watcher, spec };
}
