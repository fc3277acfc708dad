import { styleText } from "node:util";
import { printable } from "@lameduck/drain/common";
import { notJudged } from "@lameduck/audit";
import type { InjectedManifests } from "@lameduck/operator";
import { withAddresses } from "../about.ts";

/** A line for each workload, and its reasons below. */
export function textOf(
  { workloads, carriers, inventory }: InjectedManifests,
  stream: NodeJS.WriteStream,
): string {
  const others = notJudged(inventory, "inject").map((one) => `${printable(one)}\n`);
  if (workloads.length === 0) return ["no workloads were found\n", ...others].join("");
  const each = workloads
    .map(({ name, isInjected, reasons, warnings }) =>
      [
        printable(`${name}: ${isInjected ? "injected" : "left alone"}`),
        ...reasons.map(({ code, container, text }) =>
          printable(`  ${code.padEnd(16)} ${container === undefined ? "" : `${container}: `}${text}`),
        ),
        ...warnings.map((warning) => `  ${styleText("yellow", "warning", { stream })} ${printable(warning)}`),
      ]
        .map((line) => `${line}\n`)
        .join(""),
    )
    .join("");
  const byName = Map.groupBy(carriers, ({ name }) => name);
  return [each, ...others, ...[...byName].map(([name, all]) => needed(name, all))].join("");
}

/** Nothing of what kubectl says would show that it is missing. */
function needed(name: string, carriers: InjectedManifests["carriers"]): string {
  const namespaces = carriers.map(({ namespace }) => namespace).toSorted();
  const where = `namespace${namespaces.length === 1 ? "" : "s"} ${namespaces.join(", ")}`;
  const page = withAddresses("docs/inject.md#where-the-hold-comes-from");
  return printable(`note: hooks end at once where ConfigMap ${name} is missing, in ${where}: ${page}`) + "\n";
}

export function jsonOf({ workloads, files, inventory }: InjectedManifests): string {
  const changed = files
    .filter(({ before, after }) => before.text !== after.text)
    .map(({ before }) => before.name);
  return `${JSON.stringify({ version: 1, changed, workloads, notInjected: Object.fromEntries(inventory.unread) }, undefined, 2)}\n`;
}
