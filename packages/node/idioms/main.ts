/**
 * Terminates small programs with the shutdown idioms of public code, without Lameduck, with it in code, and with it by `--import`,
 * in a pod and outside Kubernetes, and compares: what was answered, what was printed, how the process ended. Exits with 1 if anything was
 * less with Lameduck, with 3 where the npm registry does not have the packages that programs use.
 *
 *     npm run idioms [-- --only terminus --node 22]
 *
 * `--minutes 60` is a soak: all idioms again and again, with signals at other moments and handlers in the other order.
 */
import { resolve } from "node:path";
import { commandLine } from "../../../scripts/command-line.ts";
import { fetchNode } from "../../../scripts/other-nodes.ts";
import { idioms, type Idiom } from "./idiom.ts";
import { install } from "./install.ts";
import { writePage } from "./page.ts";
import { atOnce, tryIdiom, type Tried } from "./try.ts";

const { values } = commandLine(import.meta.url, {
  options: {
    // only idioms with this in their name, or of this group; may be given more than once
    only: { type: "string", multiple: true },
    // only those that need no package beyond the repository's
    bare: { type: "boolean", default: false },
    // another Node, from the npm registry: 22, 24 or 26
    node: { type: "string" },
    // the repository whose package is tried, built
    package: { type: "string", default: resolve(import.meta.dirname, "../../..") },
    // how often each idiom is tried
    repeat: { type: "string", default: "1" },
    // go on for so many minutes
    minutes: { type: "string", default: "0" },
    // idioms at a time, each of up to three processes
    jobs: { type: "string", default: "3" },
    // one JSON object a line on standard output, instead of text
    json: { type: "boolean", default: false },
    // print the names, and nothing else
    list: { type: "boolean", default: false },
    // write the tables of docs/evidence/shutdown-idioms.md, and nothing else
    page: { type: "boolean", default: false },
  },
});

const say = (text: string): void => void process.stderr.write(`${text}\n`);
const print = (text: string): void => void process.stdout.write(`${text}\n`);

function numberOf(option: "repeat" | "minutes" | "jobs"): number {
  const value = Number(values[option]);
  if (value >= 0) return value;
  say(`--${option}: "${values[option]}" is no number; --help tells more`);
  return process.exit(2);
}

function orGiveUp<T>(what: () => T): T {
  try {
    return what();
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return process.exit(3);
  }
}

if (values.page) {
  await writePage();
  process.exit(0);
}
const [repeat, minutes, jobs] = [numberOf("repeat"), numberOf("minutes"), numberOf("jobs")];
const node = values.node === undefined ? process.execPath : orGiveUp(() => fetchNode(values.node!));
const major = Number(values.node ?? process.versions.node.split(".")[0]);
const chosen = (await idioms(values.only)).filter(
  (idiom) => idiom.node <= major && (!values.bare || idiom.needs.length === 0),
);
if (chosen.length === 0) {
  say(`--only: no idiom has ${values.only?.join(" or ")} in its name; --list prints the names`);
  process.exit(2);
}
if (values.list) {
  for (const { group, name } of chosen) print(`${group}/${name}`);
  process.exit(0);
}
if (chosen.some(({ needs }) => needs.length > 0)) orGiveUp(install);

const tree = resolve(values.package);
const textOf = ({ problems, mode, place }: Tried): string =>
  `  ${mode === "code" ? "in code" : "--import"}, ${place === "pod" ? "in a pod" : "outside Kubernetes"}: ${problems.join("; ")}`;

function report(idiom: Idiom, tried: readonly Tried[]): void {
  const bad = tried.filter(({ problems }) => problems.length > 0);
  if (values.json) {
    for (const one of tried)
      print(JSON.stringify({ ...one, idiom: `${idiom.group}/${idiom.name}` }, asPlain));
    return;
  }
  print(`${bad.length === 0 ? "as good" : "WORSE  "} ${idiom.group}/${idiom.name}`);
  for (const one of bad) print(textOf(one));
}

const asPlain = (_key: string, value: unknown): unknown =>
  value instanceof Map ? Object.fromEntries(value) : value;

/** More than these are nobody else's load. */
const mostAgain = 25;
const isBad = (tried: readonly Tried[]): boolean => tried.some(({ problems }) => problems.length > 0);
const worse = new Map<string, number>();
const from = performance.now();
let [tries, again, round] = [0, 0, 0];

async function tryAll(): Promise<void> {
  const delayMs = round === 0 ? 0 : Math.round(Math.random() * 400);
  const settings = { tree, node, handlersFirst: round % 2 === 1, delayMs };
  const bad: { idiom: Idiom; tried: readonly Tried[] }[] = [];
  const run = async (idiom: Idiom) => ({ idiom, tried: await tryIdiom(idiom, settings) });
  for await (const { idiom, tried } of atOnce(jobs, chosen, run)) {
    tries++;
    if (!isBad(tried)) report(idiom, tried);
    else {
      bad.push({ idiom, tried });
      say(`${idiom.group}/${idiom.name} is worse; it is tried alone in the end`);
    }
  }
  for (const { idiom, tried } of bad) {
    // Programs that share two cores with twenty others are late, and so are their clients: alone they have no excuse.
    const alone = bad.length > mostAgain ? tried : await tryIdiom(idiom, settings);
    report(idiom, alone);
    if (isBad(alone)) worse.set(idiom.name, (worse.get(idiom.name) ?? 0) + 1);
    else {
      again++;
      say(`${idiom.group}/${idiom.name} was worse beside others, and as good alone:`);
      for (const one of tried.filter(({ problems }) => problems.length > 0)) say(textOf(one));
    }
  }
  round++;
}

do await tryAll();
while (round < repeat || performance.now() - from < minutes * 60_000);

const took = `${((performance.now() - from) / 1_000).toFixed(0)} s`;
const times = round === 1 ? "" : `, ${round} times each`;
const failed = [...worse.values()].reduce((sum, count) => sum + count, 0);
say(
  `${chosen.length} idioms${times}: ${tries - failed} as good as without Lameduck (${again} of them only alone), ${failed} worse; ${took}`,
);
process.exitCode = failed > 0 ? 1 : 0;
