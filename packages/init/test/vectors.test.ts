import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import fc from "fast-check";
import {
  DrainError,
  expandVector,
  parseConfig,
  policyKinds,
  runVector,
  type DecisionVector,
  type DrainOptions,
  type Observation,
} from "@lameduck/drain";
import { nativeProgram, withoutCompiler } from "./compiled.ts";

const folder = fileURLToPath(new URL("../../drain/vectors/", import.meta.url));

const plainNumbers: ReadonlySet<string> = new Set(["lossBudget", "maxSenders", "quorum"]);

/** Numbers in code are milliseconds; texts have a unit. */
function textOf(name: string, value: unknown): string {
  return typeof value === "number" && !plainNumbers.has(name) ? `${value}ms` : String(value);
}

function linesOf(vector: Pick<DecisionVector, "config">, observations: readonly Observation[]): string {
  const options = Object.entries(vector.config).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((each) => `option ${name} ${textOf(name, each)}`),
  );
  return [...options, ...observations.map(lineOf), "end", ""].join("\n");
}

function lineOf(seen: Observation): string {
  switch (seen.type) {
    case "arrival":
      return `see ${seen.kind} ${seen.at} ${seen.sender} ${seen.old ? "old" : (seen.earlier ?? "-")}`;
    case "rate":
      return `see rate ${seen.at} ${seen.sender} ${seen.perSecond}`;
    case "in-flight":
      return `see in-flight ${seen.at} - ${seen.change}`;
    case "acknowledgement":
      return `see acknowledgement ${seen.at} ${seen.consumer} -`;
    case "released":
      return `see released ${seen.at} ${seen.last ?? "-"} -`;
    case "unreleased":
      return `see unreleased ${seen.at} - ${seen.local ? 1 : 0}`;
    case "blind":
      return `see blind ${seen.at} - ${seen.from}`;
    default:
      return `see ${seen.type} ${seen.at} - -`;
  }
}

/** What the C core answers, a line for each vector. */
function answers(input: string): string[] {
  const { stdout, stderr, status } = spawnSync(nativeProgram("vectors"), { input, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout.trimEnd().split("\n");
}

for (const file of readdirSync(folder).sort()) {
  const vectors = JSON.parse(readFileSync(folder + file, "utf8")) as DecisionVector[];
  for (const vector of vectors) {
    const observations = expandVector(vector);
    const { languages = ["c"] } = vector;
    const skip =
      withoutCompiler || (!languages.includes("c") && "from outside of a program such things are not seen");
    test(`in C, ${file}: ${vector.name}`, { skip }, () => {
      const [answer = ""] = answers(linesOf(vector, observations));
      const [stop, reason] = answer.split(" ");
      assert.equal(reason, vector.expect.reason, answer);
      assert.ok(Math.abs(Number(stop) - vector.expect.stop) <= 1, `${answer}, not ${vector.expect.stop}`);
    });
  }
}

const sender = fc.constantFrom("a", "b", "c", "d", "e");
const at = fc.integer({ min: -60_000, max: 25_000 });
const observation: fc.Arbitrary<Observation> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("arrival" as const),
      at,
      sender,
      kind: fc.constantFrom("connection" as const, "request" as const),
      asked: fc.constant(true),
      earlier: fc.constantFrom(0, 0, 90, 800),
      old: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("rate" as const),
      at,
      sender,
      perSecond: fc.double({ min: 0, max: 1000, noNaN: true }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("in-flight" as const),
      at,
      change: fc.integer({ min: -2, max: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("watching" as const), at }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("released" as const), at }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("unreleased" as const), at, local: fc.boolean() }),
  },
);
const duration = fc.integer({ min: 0, max: 40_000 });
const options: fc.Arbitrary<DrainOptions> = fc.record(
  {
    policy: fc.constantFrom(...policyKinds),
    consumers: fc.constant("cluster" as const),
    settle: duration,
    floor: duration,
    grace: duration,
    cap: duration,
    prestop: duration,
    reserve: duration,
    delay: duration,
    window: duration,
    convergence: duration,
    requestQuiet: duration,
    lossBudget: fc.constantFrom(1e-6, 0.0002, 0.001, 0.1, 0),
    maxSenders: fc.constantFrom(1, 2, 1024),
  },
  { requiredKeys: ["consumers"] },
);

function expected(config: DrainOptions, observations: readonly Observation[]): string {
  try {
    parseConfig(config);
  } catch (error) {
    if (error instanceof DrainError) return `error ${error.code} ${error.place}`;
    throw error;
  }
  const { stop, reason } = runVector({
    name: "",
    why: "",
    config,
    observations,
    expect: { stop: 0, reason: "cap" },
  });
  return `${stop} ${reason}`;
}

function decidedAlike(played: readonly { config: DrainOptions; all: readonly Observation[] }[]): void {
  const inC = answers(played.map(({ config, all }) => linesOf({ config }, all)).join(""));
  assert.equal(inC.length, played.length);
  for (const [index, { config, all }] of played.entries()) {
    const want = expected(config, all);
    const got = inC[index] ?? "";
    const about = `${JSON.stringify(config)} ${JSON.stringify(all)}: C says ${got}, TypeScript ${want}`;
    if (want.startsWith("error")) assert.equal(got, want, about);
    else {
      assert.equal(got.split(" ")[1], want.split(" ")[1], about);
      assert.ok(Math.abs(parseFloat(got) - parseFloat(want)) <= 1, about);
    }
  }
}

test("C and TypeScript decide alike on any observations and settings", { skip: withoutCompiler }, () => {
  const cases = fc.sample(fc.tuple(options, fc.array(observation, { maxLength: 60 })), {
    numRuns: 2_000,
    seed: 7,
  });
  decidedAlike(
    cases.map(([config, seen]) => {
      const all = [...seen, { type: "termination", at: 0 } as const].sort((a, b) => a.at - b.at);
      return { config, all };
    }),
  );
});

test(
  "C and TypeScript decide alike where senders come often, seldom and in crowds",
  { skip: withoutCompiler },
  () => {
    const minutes = (from: number, to: number) => fc.integer({ min: from * 60_000, max: to * 60_000 });
    const crowd = fc.record({
      at: minutes(-10, 0.2),
      every: fc.integer({ min: 20, max: 20_000 }),
      senders: fc.integer({ min: 1, max: 200 }),
      lasts: minutes(0, 10),
    });
    const cases = fc.sample(
      fc.tuple(fc.constantFrom(4, 8, 16, 40), fc.array(crowd, { minLength: 1, maxLength: 5 })),
      { numRuns: 100, seed: 7 },
    );
    decidedAlike(
      cases.map(([maxSenders, crowds]) => {
        const observations = crowds.map(({ at: from, every, senders, lasts }, index) => ({
          type: "arrival" as const,
          at: from,
          every: Math.max(every, lasts / 500),
          to: Math.min(from + lasts, 60_000),
          sender: `${index}-`,
          senders,
          kind: "connection" as const,
        }));
        const vector = {
          name: "",
          why: "",
          config: {},
          observations,
          expect: { stop: 0, reason: "cap" as const },
        };
        const all = [...expandVector(vector), { type: "termination", at: 0 } as const];
        return { config: { maxSenders, grace: "60s" }, all: all.sort((a, b) => a.at - b.at) };
      }),
    );
  },
);

/** When it stops for a sender of even gaps, of whose connections before the hold only a share left a trace. */
function stopOf(gapBefore: number, gapInHold: number, traced: number): number {
  const times = [
    ...Array.from({ length: 50 }, (_, index) => -gapBefore * (50 - index)),
    ...Array.from({ length: Math.floor(4_000 / gapInHold) }, (_, index) => (index + 1) * gapInHold),
  ];
  const seen: Observation[] = times.map((at) => ({ type: "arrival", kind: "connection", sender: "a", at }));
  const all = [...seen, { type: "termination", at: 0 } as const].sort((a, b) => a.at - b.at);
  return Number.parseFloat(answers(`traced ${traced}\n${linesOf({ config: {} }, all)}`)[0] ?? "");
}

test(
  "a sender that is faster in the hold than its trace was so before, if connections left none",
  { skip: withoutCompiler },
  () => {
    assert.ok(stopOf(400, 200, 0.5) < stopOf(400, 200, 1) - 200);
    // Less than that is not missing,
    assert.ok(stopOf(400, 100, 0.5) > stopOf(200, 100, 1) - 1);
    // and who is as slow as its trace left all of it: what is missing is another's.
    assert.equal(stopOf(400, 400, 0.5), stopOf(400, 400, 1));
  },
);
