import { styleText } from "node:util";
import { printable } from "@lameduck/drain/common";
import { notJudged } from "@lameduck/audit";
import type { InjectedManifests, RemovedManifests } from "@lameduck/inject";
import { withAddresses } from "../about.ts";

/** What was done to files, and how to tell it. */
export interface Done extends Pick<InjectedManifests, "files" | "failures" | "inventory"> {
  readonly text: (stream: NodeJS.WriteStream) => string;
  readonly json: () => string;
}

export function injectedReport(injected: InjectedManifests): Done {
  return { ...injected, text: (stream) => textOf(injected, stream), json: () => jsonOf(injected) };
}

export function removedReport(removed: RemovedManifests): Done {
  const text = (stream: NodeJS.WriteStream): string =>
    [
      ...removed.workloads.flatMap(({ name, isRemoved, kept }) => [
        printable(`${name}: ${isRemoved ? "as it was before" : "not injected"}`),
        ...kept.map((one) => `  ${styleText("yellow", "warning", { stream })} ${printable(one)}; it stays`),
      ]),
      ...notTold(removed),
    ]
      .map((line) => `${line}\n`)
      .join("");
  return { ...removed, text, json: () => jsonOf(removed) };
}

/** A line for each workload, and its reasons below. */
function textOf({ workloads, initVolumes, ...read }: InjectedManifests, stream: NodeJS.WriteStream): string {
  const others = notTold(read).map((line) => `${line}\n`);
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
  const byName = Map.groupBy(initVolumes, ({ name }) => name);
  return [each, ...others, ...[...byName].map(([name, all]) => needed(name, all))].join("");
}

function notTold({ inventory }: Pick<InjectedManifests, "inventory">): string[] {
  const none = inventory.workloads.length === 0 ? ["no workloads were found"] : [];
  return [...none, ...notJudged(inventory, "inject").map(printable)];
}

/** Nothing of what kubectl says would show that it is missing. */
function needed(name: string, initVolumes: InjectedManifests["initVolumes"]): string {
  const namespaces = initVolumes.map(({ namespace }) => namespace).toSorted();
  const where = `namespace${namespaces.length === 1 ? "" : "s"} ${namespaces.join(", ")}`;
  const page = withAddresses("docs/operate/inject.md#where-the-hold-comes-from");
  return printable(`note: hooks end at once where ConfigMap ${name} is missing, in ${where}: ${page}`) + "\n";
}

function jsonOf(done: InjectedManifests | RemovedManifests): string {
  const { workloads, files, inventory } = done;
  const changed = files
    .filter(({ before, after }) => before.text !== after.text)
    .map(({ before }) => before.name);
  const told = {
    version: 1,
    changed,
    workloads,
    notInjected: Object.fromEntries(inventory.unread),
    ...("initVolumes" in done ? { initVolumes: done.initVolumes } : {}),
  };
  return `${JSON.stringify(told, undefined, 2)}\n`;
}
