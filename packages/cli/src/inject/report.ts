import { styleText } from "node:util";
import { printable } from "@lameduck/drain/common";
import type { InjectedManifests } from "@lameduck/operator";

/** A line for each workload, and its reasons below. */
export function textOf({ workloads }: InjectedManifests, stream: NodeJS.WriteStream): string {
  if (workloads.length === 0) return "no workloads were found\n";
  return workloads
    .map(({ name, isInjected, reasons, warnings }) =>
      [
        printable(`${name}: ${isInjected ? "injected" : "left alone"}`),
        ...reasons.map(({ code, container, text }) =>
          printable(`  ${code.padEnd(17)}${container === undefined ? "" : `${container}: `}${text}`),
        ),
        ...warnings.map((warning) => `  ${styleText("yellow", "warning", { stream })} ${printable(warning)}`),
      ]
        .map((line) => `${line}\n`)
        .join(""),
    )
    .join("");
}

export function jsonOf({ workloads, files }: InjectedManifests): string {
  const changed = files
    .filter(({ before, after }) => before.text !== after.text)
    .map(({ before }) => before.name);
  return `${JSON.stringify({ version: 1, changed, workloads }, undefined, 2)}\n`;
}
