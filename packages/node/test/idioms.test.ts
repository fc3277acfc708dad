/** Ten of the shutdown idioms of idioms/, each with Lameduck and without; and the page about all of them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";
import { idioms } from "../idioms/idiom.ts";
import { expectedPage, writtenPage } from "../idioms/page.ts";
import { atOnce, tryIdiom } from "../idioms/try.ts";
import { worse } from "../idioms/verdict.ts";
import { terminate, type Outcome } from "../idioms/termination.ts";

const tree = join(import.meta.dirname, "../../..");
const all = await idioms();
const quick = all.filter(({ isQuick }) => isQuick);

test("ten idioms end with Lameduck as well as without", async (context) => {
  assert.equal(quick.length, 10);
  const run = (idiom: (typeof quick)[number]) => tryIdiom(idiom, { tree, node: process.execPath });
  const ended: Awaited<ReturnType<typeof run>>[] = [];
  for await (const tried of atOnce(3, quick, run)) ended.push(tried);
  for (const beside of ended) {
    const isGood = beside.every(({ problems }) => problems.length === 0);
    // What is late beside others on a busy machine has no excuse alone.
    const tried = isGood ? beside : await run(beside[0]!.idiom);
    await context.test(tried[0]?.idiom.name ?? "", () => {
      const problems = tried
        .filter((one) => one.problems.length > 0)
        .map(({ place, mode, problems: found, withIt }) => ({ place, mode, found, events: withIt.events }));
      assert.deepEqual(problems, []);
    });
  }
});

test("docs/evidence/shutdown-idioms.md lists every idiom; node packages/node/idioms/main.ts --page writes it", async () => {
  assert.equal(writtenPage(), await expectedPage());
});

test("idioms are sixty or more, and have names of their own", () => {
  const names = new Set(all.map(({ group, name }) => `${group}/${name}`));
  assert.ok(names.size >= 60 && names.size === all.length);
});

const good: Outcome = {
  exit: "0",
  afterMs: 100,
  lastAnswerMs: 90,
  answers: new Map([
    ["slow request", { isAnswered: true }],
    ["new request 1", { isAnswered: true, begunAt: 0 }],
  ]),
  lines: ["closed", "cleaned up 17"],
  errors: [],
  events: [],
  leavesProcess: false,
};
const answers = (slow: boolean, fresh: boolean): Outcome["answers"] =>
  new Map([
    ["slow request", { isAnswered: slow }],
    ["new request 1", { isAnswered: fresh, begunAt: 0 }],
  ]);
const [idiom] = quick;

/** Without, with, and a word of what is worse; none where nothing is. */
const verdicts: [what: string, without: Partial<Outcome>, withIt: Partial<Outcome>, worse?: RegExp][] = [
  ["the same", {}, {}],
  ["another process id in a line", {}, { lines: ["cleaned up 18", "closed"] }],
  ["another exit code", {}, { exit: "1" }, /exit 1 instead of 0/],
  ["0 instead of the signal", { exit: "SIGTERM" }, {}],
  ["the signal instead of 0", {}, { exit: "SIGTERM" }, /exit SIGTERM/],
  ["killed at the end of the grace period", {}, { exit: "killed" }, /exit killed/],
  ["a request in flight", {}, { answers: answers(false, true) }, /slow request was lost/],
  [
    "a request in the hold",
    { answers: answers(true, false) },
    { answers: answers(true, false) },
    /in the hold/,
  ],
  ["a line", {}, { lines: ["closed"] }, /not printed: "cleaned up N"/],
  ["a line twice", {}, { lines: ["closed", "closed", "cleaned up 1"] }, /more often/],
  ["a warning", {}, { errors: ["Warning"] }, /standard error/],
  [
    "no start, which is none of the other verdicts",
    { exit: "no start" },
    { exit: "no start" },
    /without Lameduck either/,
  ],
  ["a process left", {}, { leavesProcess: true }, /left a process/],
];
for (const [what, without, withIt, expected] of verdicts)
  test(`the verdict: ${what}`, () => {
    const found = worse(idiom!, "import", "pod", { ...good, ...without }, { ...good, ...withIt });
    if (expected) assert.match(found.join(), expected);
    else assert.deepEqual(found, []);
  });

test("the verdict: later than a second outside Kubernetes, and a hook of `closed` that nobody names", () => {
  const late = { ...good, afterMs: 3_000 };
  assert.match(worse(idiom!, "import", "machine", good, late).join(), /after 3000 ms/);
  assert.deepEqual(worse(idiom!, "import", "pod", good, late), []);
  assert.match(worse(idiom!, "code", "pod", good, good).join(), /hook/);
  assert.deepEqual(
    worse(idiom!, "code", "pod", good, { ...good, lines: [...good.lines, "HOOK closed"] }),
    [],
  );
});

/** Of a launcher that its signal ends, and that passes none on: what it has started, and whether that is there at the end of the grace period. */
const orphans: [what: string, command: string, isLeft: boolean][] = [
  ["serves on", "while :; do sleep 0.1; done", true],
  ["ends a moment after it", "sleep 0.3", false],
];
for (const [what, command, isLeft] of orphans)
  test(`a process ${what}, whose launcher has ended`, async () => {
    const launched = {
      ...idiom!,
      client: "none",
      graceMs: 800,
      command: ["sh", "-c", `(${command}) & echo READY; wait`],
    } as const;
    const attempt = {
      idiom: launched,
      mode: "without",
      place: "machine",
      tree,
      node: process.execPath,
    } as const;
    // Six at once: it must not be a matter of luck.
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, () => terminate({ ...attempt, handlersFirst: false, delayMs: 0 })),
    );
    assert.deepEqual(
      outcomes.map(({ exit, leavesProcess }) => [exit, leavesProcess]),
      outcomes.map(() => ["SIGTERM", isLeft]),
    );
  });
