import { imagesOf, inOneGo, readInSteps, servingContainers, spell, type Workload } from "@lameduck/audit";
import { printable, type LameduckError } from "@lameduck/drain/common";
import { rolledKinds } from "@lameduck/simulator";
import { readInput } from "../audit/input.ts";

/** A workload to give advice for. */
export interface Advised {
  /** "Deployment shop/web" */
  readonly name: string;
  /** file:line:column */
  readonly place: string;
  /** As it is written, with the pods that it has. */
  readonly object: unknown;
  /** The container that serves. */
  readonly container: string | undefined;
}

/** The workloads of files, folders and stdin, read as the audit reads them; those that no rollout replaces are told. */
export async function workloadsOf(
  paths: readonly string[],
): Promise<{ readonly workloads: readonly Advised[]; readonly failures: readonly LameduckError[] }> {
  const { files, failures } = await readInput(paths, "simulate -f");
  const read = inOneGo(readInSteps(files, { images: imagesOf([]) }));
  const [rolled, others] = [
    read.inventory.workloads.filter(({ object }) => rolledKinds.includes(object.kind)),
    read.inventory.workloads.filter(({ object }) => !rolledKinds.includes(object.kind)),
  ];
  for (const { object } of others)
    process.stderr.write(
      `${printable(`${object.field.place}: ${spell(object)}: no rollout replaces its pods`)}\n`,
    );
  return { workloads: rolled.map(advisedOf), failures: [...failures, ...read.failures] };
}

function advisedOf(workload: Workload): Advised {
  const { object, template, replicas } = workload;
  const { spec, ...others } = object.field.plain() as { readonly spec?: object };
  const pods = object.kind === "DaemonSet" ? {} : { replicas: replicas.value };
  return {
    name: spell(object),
    place: object.field.place,
    // An autoscaler knows how many there are at least, and a Rollout may take its pods from a Deployment.
    object: { ...others, spec: { ...spec, ...pods, template: template.plain() } },
    container: servingContainers(workload)[0]?.name,
  };
}
