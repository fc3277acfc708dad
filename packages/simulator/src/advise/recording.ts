import { count } from "@lameduck/accounting/words";
import { SimulatorError } from "../errors.ts";
import type { ScenarioFile } from "../scenario/schema.ts";
import { field, list, positive, type Source } from "./source.ts";

type Convergence = Pick<ScenarioFile, "senders" | "endpoints">;

/**
 * Reads what `lab --json` wrote: when each sender let go of each pod, and how many connections came.
 * @throws {SimulatorError} where no termination has a known convergence.
 */
export function sourceOfRecording(text: string, file: string): Source {
  if (/^\{"lameduck":"trace"/m.test(text))
    throw new SimulatorError(
      "LAMEDUCK_SCENARIO_INVALID",
      file,
      "it is the recording of one hold, and says nothing of senders that went elsewhere",
      { remedy: "name what lab --json wrote; `lameduck explain` reads this file" },
    );
  let results: unknown;
  try {
    results = JSON.parse(text);
  } catch (error) {
    throw new SimulatorError("LAMEDUCK_SCENARIO_SYNTAX", file, (error as Error).message);
  }
  const remedies = list(field(results, "remedies"));
  const bySender = convergenceBySender(remedies);
  const replicas = positive(field(results, "settings", "workload", "replicas"));
  return {
    scenario: {
      name: `recording ${file}`,
      ...(replicas === undefined ? {} : { replicas }),
      rollout: { kind: "isolated" },
      ...(bySender ?? convergenceOfLast(remedies, file)),
      traffic: { total: connectionRate(results, remedies) },
    },
    unknown: [
      ...assumedByTheLab(results, file),
      ...(bySender
        ? []
        : [
            {
              sentence: `when each sender stopped sending: ${file} tells of the last one only, and all are taken for one; say them with --senders`,
              isAnswered: namesSenders,
            },
          ]),
    ],
  };
}

const namesSenders = ({ senders }: ScenarioFile): boolean => senders !== undefined;

/** In a lab senders stop sending when the lab lets them: what comes back is what went in. */
function assumedByTheLab(results: unknown, file: string): Source["unknown"] {
  if (field(results, "tool") !== "lab") return [];
  const name = field(results, "settings", "propagation", "name");
  const which = typeof name === "string" ? ` (--propagation ${name})` : "";
  return [
    {
      sentence:
        `how late the senders of a cluster are: ${file} is of a lab, and gives back the lab's own assumption${which}, ` +
        "not a measurement of a cluster",
      isAnswered: namesSenders,
    },
  ];
}

/**
 * All senders wait for the controller together and then each for itself. The shared part of a termination is the time of its
 * first sender; what the others took beyond that is their own.
 */
function convergenceBySender(remedies: readonly unknown[]): Convergence | undefined {
  const names = new Set<string>();
  const shared: number[] = [];
  const own: number[] = [];
  for (const remedy of remedies) {
    const terminations = terminationsByPod(remedy);
    for (const event of list(field(remedy, "timeline", "senders"))) {
      const at = field(event, "at");
      if (field(event, "type") !== "converged" || typeof at !== "number") continue;
      // Pods of a StatefulSet keep their names: the last deletion before is the one that was learnt.
      const termination = terminations.get(field(event, "pod"))?.findLast(({ deletedAt }) => deletedAt <= at);
      if (!termination) continue;
      names.add(String(field(event, "sender")));
      termination.convergence.push(at - termination.deletedAt);
    }
    for (const { convergence: times } of [...terminations.values()].flat()) {
      if (times.length === 0) continue;
      const first = Math.min(...times);
      shared.push(first);
      own.push(...times.map((time) => time - first));
    }
  }
  if (names.size === 0) return undefined;
  return {
    endpoints: { drawn: empirical(shared) },
    senders: [{ name: `${names.size} recorded senders`, count: names.size, convergence: empirical(own) }],
  };
}

interface RecordedTermination {
  readonly deletedAt: number;
  readonly convergence: number[];
}

function terminationsByPod(remedy: unknown): ReadonlyMap<unknown, RecordedTermination[]> {
  const byPod = new Map<unknown, RecordedTermination[]>();
  for (const each of list(field(remedy, "each"))) {
    const [pod, deletedAt] = [field(each, "pod"), field(each, "deletedAt")];
    if (typeof deletedAt !== "number") continue;
    const terminations = byPod.get(pod) ?? [];
    terminations.push({ deletedAt, convergence: [] });
    terminations.sort((a, b) => a.deletedAt - b.deletedAt);
    byPod.set(pod, terminations);
  }
  return byPod;
}

function convergenceOfLast(remedies: readonly unknown[], file: string): Convergence {
  const oracles = remedies
    .flatMap((remedy) => list(field(remedy, "each")))
    .map((termination) => field(termination, "oracle"))
    .filter((oracle) => typeof oracle === "number");
  if (oracles.length === 0)
    throw new SimulatorError(
      "LAMEDUCK_SCENARIO_INVALID",
      file,
      "no termination with a known convergence in it",
    );
  return {
    endpoints: { drawn: 0 },
    senders: [
      {
        name: `last of the senders, ${count(oracles.length, "termination")}`,
        convergence: empirical(oracles),
      },
    ],
  };
}

/** New connections per second: what went over kept-alive connections says nothing about routing. */
function connectionRate(results: unknown, remedies: readonly unknown[]): number {
  const pooledShare = field(results, "settings", "load", "pooledShare");
  const share = typeof pooledShare === "number" ? 1 - pooledShare : 1;
  const rates = remedies.map((remedy) => {
    const [sent, duration] = [positive(field(remedy, "sent")), positive(field(remedy, "duration"))];
    return sent === undefined || duration === undefined ? 0 : (share * sent) / (duration / 1_000);
  });
  return Math.max(0, ...rates);
}

/** The values themselves as a distribution. */
export function empirical(values: readonly number[]): { quantiles: [number, number][] } {
  const sorted = [...values].sort((a, b) => a - b);
  return {
    quantiles: sorted.map((value, index): [number, number] => [(index + 1) / sorted.length, value]),
  };
}
