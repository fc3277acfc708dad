import { commandLine } from "../scripts/command-line.ts";
import { markdownTable } from "../scripts/format-page.ts";
import type { DrainOptions } from "@lameduck/drain";
import { drained, slept } from "../packages/simulator/src/policies/drained.ts";
import { oracle } from "../packages/simulator/src/policies/competitors.ts";
import { runInParallel } from "../packages/simulator/src/parallel/run.ts";
import { scenarioFrom } from "../packages/simulator/src/scenario/parse.ts";
import { acknowledged } from "../packages/simulator/src/simulate/contenders.ts";
import { mean, quantile } from "../packages/simulator/src/simulate/statistics.ts";
import { environments, faults, type Environment, type Fault } from "./acknowledgements/environments.ts";

/**
 * What reports of consumers buy: holds, how much longer they are than the oracle's, and what is lost, against rules that hear nothing. Writes tables in Markdown
 * to stdout; some minutes. --terminations scales all environments, --only NAME plays those whose name contains it.
 */
const { values } = commandLine(import.meta.url, {
  options: {
    terminations: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
  },
});
const seed = Number(values.seed);

interface Row {
  readonly policy: string;
  readonly hold: number;
  /** Hold minus oracle. */
  readonly p50: number;
  readonly p90: number;
  readonly lost: number;
}

async function play({ scenario, share = 1 }: Environment): Promise<Row[]> {
  const terminations = Math.ceil(Number(values.terminations) * share);
  const parsed = scenarioFrom({ ...scenario, terminations }).scenario;
  const { grace, prestop, reserve } = parsed.pod;
  const pod = { grace, prestop, reserve } satisfies DrainOptions;
  const contenders = [
    ...[10_000, 15_000, 30_000].map((delay) => slept(`sleep ${delay / 1_000}`, pod, delay)),
    drained("quiet 5", { ...pod, policy: "quiet", window: "5s" }),
    drained("adaptive", pod),
    ...acknowledged(pod),
    oracle(),
  ];
  const { outcomes, oracles } = await runInParallel(parsed, contenders, { seed });
  return contenders.map(({ name }, index) => {
    const played = outcomes[index]!;
    const over = played.map(({ hold }, termination) => hold - oracles[termination]!).sort((a, b) => a - b);
    return {
      policy: name,
      hold: mean(played.map(({ hold }) => hold)),
      p50: quantile(over, 0.5),
      p90: quantile(over, 0.9),
      lost: mean(played.map(({ expectedLost, losses }) => expectedLost + losses.keepAlive)),
    };
  });
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(1)} s`;
const count = (value: number): string => String(+value.toPrecision(2));
const wanted = ({ name }: { name: string }): boolean => !values.only || name.includes(values.only);

for (const environment of environments.filter(wanted)) {
  process.stdout.write(`\n**${environment.name}**\n\n`);
  const rows = (await play(environment)).map(({ policy, hold, p50, p90, lost }) => [
    policy,
    ...[hold, p50, p90].map(seconds),
    count(lost),
  ]);
  process.stdout.write(markdownTable(["policy", "hold", "over the oracle: p50", "p90", "lost"], rows));
}

const shown = ["adaptive", "adaptive, told", "acknowledged"];
const heading = ["consumers", ...shown.map((policy) => `${policy}: hold, p90 over the oracle, lost`)];
const ofFaults: string[][] = [];
for (const fault of faults.filter(wanted)) ofFaults.push([fault.name, ...(await cellsOf(fault))]);
process.stdout.write(`\n${markdownTable(heading, ofFaults)}`);

async function cellsOf(fault: Fault): Promise<string[]> {
  const rows = await play(fault);
  return shown.map((policy) => {
    const row = rows.find((each) => each.policy === policy)!;
    return `${seconds(row.hold)}, ${seconds(row.p90)}, ${count(row.lost)}`;
  });
}
