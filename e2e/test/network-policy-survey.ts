import { join } from "node:path";
import type { Cluster } from "../cluster/index.ts";
import { readSites, type Caller, type End, type Sites } from "./network-policy-sites.ts";
import { spelt, ways, type Way } from "./network-policy-ways.ts";

const program = join(import.meta.dirname, "network-policy-dial.ts");

/** What became of the connections of each way; "answered by some" where replicas differ. */
export type Survey = Readonly<Record<string, "answered" | "closed" | "answered by some">>;

/** Which of these were answered, each asked over a connection of its own. */
export async function dial(
  cluster: Cluster,
  { machine, pid }: Caller,
  targets: readonly string[],
): Promise<readonly boolean[]> {
  const enter = pid === undefined ? [] : ["nsenter", "-t", pid, "--net", "--"];
  const said = await cluster.inside(machine, [...enter, process.execPath, program, ...targets]);
  return JSON.parse(said) as readonly boolean[];
}

/** Tries every way of the table. */
export async function survey(cluster: Cluster): Promise<Survey> {
  const sites = await readSites(cluster);
  const calls = ways.flatMap((way) => callsOf(way, sites, cluster.nodeNames));
  const byCaller = Map.groupBy(calls, ({ caller: { machine, pid } }) => `${machine} ${pid}`);
  const answers = new Map<string, boolean[]>(ways.map((way) => [spelt(way), []]));
  await Promise.all(
    [...byCaller.values()].map(async (group) => {
      const [{ caller }] = group as [Call];
      const answered = await dial(
        cluster,
        caller,
        group.map(({ target }) => target),
      );
      for (const [index, { way }] of group.entries()) answers.get(spelt(way))?.push(answered[index] === true);
    }),
  );
  return Object.fromEntries([...answers].map(([name, all]) => [name, summary(all)]));
}

/** What `survey` finds where these ways are open and no others. */
export function surveyed(isOpen: (way: Way) => boolean): Survey {
  return Object.fromEntries(ways.map((way) => [spelt(way), isOpen(way) ? "answered" : "closed"]));
}

function summary(answers: readonly boolean[]): Survey[string] {
  if (answers.every(Boolean)) return "answered";
  return answers.some(Boolean) ? "answered by some" : "closed";
}

interface Call {
  readonly way: Way;
  readonly caller: Caller;
  readonly target: string;
}

function callsOf(way: Way, sites: Sites, nodes: readonly string[]): readonly Call[] {
  const all = sites.ends[way.to];
  const ends = way.from === way.to ? all.slice(1) : all;
  if (ends.length === 0) throw new Error(`${spelt(way)}: nobody is there`);
  return ends.map((end) => ({
    way,
    caller: way.from === "node" ? otherNode(end, nodes) : sites.callers[way.from],
    target: `${end.address}:${way.port}`,
  }));
}

function otherNode({ node }: End, nodes: readonly string[]): Caller {
  const machine = nodes.find((name) => name !== node);
  if (machine === undefined) throw new Error("a cluster of one node");
  return { machine };
}
