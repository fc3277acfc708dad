import assert from "node:assert/strict";
import { spawn, execFileSync } from "node:child_process";
import { test } from "node:test";
import type { PodEvent } from "@lameduck/accounting";
import { frame } from "../src/live/frame.ts";
import { PodStates, type PodLine } from "../src/live/pods.ts";
import { isWatched } from "../src/live/tell.ts";
import { Progress } from "../src/progress.ts";
import { program } from "./program.ts";
import { Screen, Terminal } from "./screen.ts";

const heading = "[1/2] adaptive: rolling  12345 sent, 3 failed, 2 terminating";

const three: PodLine[] = [
  { pod: "web-7d9c5b-x2k4p", state: "gone", ms: 6_040, why: "quiet", answered: 1_234, lost: 0 },
  { pod: "web-7d9c5b-9zq8w", state: "holding", ms: 3_210, why: "adaptive", answered: 987, lost: 2 },
  { pod: "web-58f6dd-b7n2m", state: "starting", ms: 400, answered: 0, lost: 0 },
];

function many(states: Partial<Record<PodLine["state"], number>>): PodLine[] {
  return Object.entries(states).flatMap(([state, times]) =>
    Array.from({ length: times }, (_, i): PodLine => ({
      pod: `web-${state.replace(" ", "-")}-${i}`,
      state: state as PodLine["state"],
      ms: 1_000 + i,
      answered: 10,
      lost: i === 0 ? 1 : 0,
    })),
  );
}

test("three pods have a line each", () => {
  assert.deepEqual(frame({ heading, pods: three }, { columns: 80, rows: 24 }), [
    heading,
    "pod               state                    answered  lost",
    "web-7d9c5b-x2k4p  gone 6.0 s, quiet            1234     0",
    "web-7d9c5b-9zq8w  holding 3.2 s, adaptive       987     2",
    "web-58f6dd-b7n2m  starting 0.4 s                  0     0",
  ]);
});

test("a narrow terminal keeps the figures, the time and the end of the name", () => {
  assert.deepEqual(frame({ heading, pods: three }, { columns: 40, rows: 24 }), [
    "[1/2] adaptive: rolling  12345 sent, 3…",
    "pod          state             ok  lost",
    "…9c5b-x2k4p  gone 6 s        1234     0",
    "…9c5b-9zq8w  holding 3 s      987     2",
    "…f6dd-b7n2m  starting 0 s       0     0",
  ]);
});

test("a frame fits its terminal, with a row left for the cursor", () => {
  for (const columns of [1, 5, 20, 40, 80, 200])
    for (const rows of [1, 2, 3, 4, 10, 24])
      for (const pods of [three, many({ gone: 20, killed: 1, holding: 5, starting: 4, ready: 30 })]) {
        const lines = frame({ heading, pods, unknown: { answered: 1, lost: 1 } }, { columns, rows });
        assert.ok(lines.length <= Math.max(1, rows - 1), lines.join("\n"));
        for (const line of lines) assert.ok(line.length <= Math.max(1, columns - 1), line);
      }
});

test("finished pods fold into a line where there are more pods than rows", () => {
  const pods = many({ gone: 48, killed: 2, holding: 3, ready: 7 });
  for (const columns of [40, 80, 200]) {
    const lines = frame({ heading, pods }, { columns, rows: 20 });
    assert.match(lines[2] ?? "", /^50 pods +48 gone, 2 (?:killed|k.*…) +500 +2$/);
    assert.equal(lines.filter((line) => /-ready-|-holding-/.test(line)).length, 10);
  }
  assert.equal(frame({ heading, pods }, { columns: 80, rows: 100 }).length, 62);
});

test("where even that is too much, the pods that end stay", () => {
  const pods = many({ gone: 10, ready: 45, starting: 2, holding: 3 });
  const lines = frame({ heading, pods }, { columns: 80, rows: 10 });
  assert.deepEqual(
    lines.slice(2).map((line) => line.split(/ {2,}/).slice(0, 2)),
    [
      ["10 pods", "10 gone"],
      ["web-holding-0", "holding 1.0 s"],
      ["web-holding-1", "holding 1.0 s"],
      ["web-holding-2", "holding 1.0 s"],
      ["web-starting-0", "starting 1.0 s"],
      ["web-starting-1", "starting 1.0 s"],
      ["45 pods", "45 ready"],
    ],
  );
});

test("requests of pods that nobody knows have a line", () => {
  const lines = frame(
    { heading, pods: three, unknown: { answered: 0, lost: 12 } },
    { columns: 80, rows: 24 },
  );
  assert.match(lines.at(-1) ?? "", /^pod not known +0 +12$/);
});

const event = (at: number, type: string, more: object = {}): PodEvent =>
  ({ at, pod: "web-1", type, ...more }) as PodEvent;

const life = [
  event(0, "created"),
  event(100, "ready"),
  event(1_000, "deleted", { grace: 30_000, why: "rollout" }),
  event(1_010, "signalled", { container: "web", signal: "SIGTERM" }),
  event(1_020, "phase", { phase: "lame-duck", detail: { policy: "adaptive" } }),
  event(4_000, "phase", { phase: "closing", reason: "quiet", detail: {} }),
  event(4_100, "listener-closed", { port: 80 }),
  event(4_200, "exited", { container: "web", code: 0 }),
  event(4_500, "gone"),
];

test("a pod's state follows its events", () => {
  const seen = life.map((_, i) => {
    const states = new PodStates();
    states.follow(life.slice(0, i + 1));
    const [line] = states.lines(5_000, new Map([["web-1", { answered: 7, lost: 1 }]]));
    assert.deepEqual([line?.answered, line?.lost], [7, 1]);
    return [line?.state, line?.ms, line?.why];
  });
  assert.deepEqual(seen, [
    ["starting", 5_000, undefined],
    ["ready", 4_900, undefined],
    ["holding", 4_000, undefined],
    ["holding", 4_000, "SIGTERM"],
    ["holding", 4_000, "adaptive"],
    ["stopping", 1_000, "quiet"],
    ["stopping", 1_000, "quiet"],
    ["stopping", 1_000, "quiet"],
    ["gone", 3_500, "quiet"],
  ]);
});

test("a killed pod stays killed, a name that comes back is another pod, and another run begins anew", () => {
  const killed = [...life.slice(0, 5), event(31_000, "killed", { container: "web" }), event(31_100, "gone")];
  const states = new PodStates();
  const of = (): string[] => states.lines(40_000, new Map()).map(({ state, ms }) => `${state} ${ms}`);
  states.follow(killed);
  assert.deepEqual(of(), ["killed 30100"]);
  killed.push(event(32_000, "created"));
  states.follow(killed);
  assert.deepEqual(of(), ["starting 8000"]);
  states.follow([{ ...event(39_000, "created"), pod: "web-2" }]);
  assert.deepEqual(of(), ["starting 1000"]);
});

test("only a person at a terminal is shown more than a line", () => {
  const [terminal, file] = [{ isTTY: true }, {}];
  const both = { stdout: terminal, stderr: terminal };
  assert.equal(isWatched({}, { TERM: "xterm" }, both), true);
  assert.equal(isWatched({ json: "-" }, {}, both), false);
  assert.equal(isWatched({}, {}, { stdout: file, stderr: terminal }), false);
  assert.equal(isWatched({}, {}, { stdout: terminal, stderr: file }), false);
  for (const env of [{ CI: "true" }, { NO_COLOR: "1" }, { TERM: "dumb" }])
    assert.equal(isWatched({}, env, both), false, JSON.stringify(env));
});

const shows =
  (heading: string): Parameters<Progress["show"]>[0] =>
  (size) =>
    frame({ heading, pods: three }, size);

function onScreen(columns: number, rows: number): { progress: Progress; terminal: Terminal } {
  const terminal = new Terminal(columns, rows);
  return { progress: new Progress(terminal as unknown as NodeJS.WriteStream), terminal };
}

test("a frame replaces the one before; lines that stay stand above it, and nothing stays at the end", async () => {
  const { progress, terminal } = onScreen(80, 24);
  progress.say("4 pods");
  progress.show(shows("first"));
  progress.show(shows("second"));
  progress.say("note: it goes on");
  await terminal.shown();
  assert.deepEqual(terminal.screen.lines.slice(0, 3), ["4 pods", "note: it goes on", "second"]);
  assert.equal(terminal.screen.lines.length, 7);
  // What a terminal echoes of Ctrl-C.
  terminal.write("^C");
  progress.done();
  await terminal.shown();
  assert.deepEqual(terminal.screen.lines, ["4 pods", "note: it goes on"]);
  assert.deepEqual(terminal.screen.cursor, { x: 0, y: 2 });
});

test("a terminal that is resized, narrower and wider, shows one frame, and none at the end", async () => {
  const { progress, terminal } = onScreen(100, 40);
  progress.say("before");
  progress.show(
    shows("a stage of a run with figures of it that are long enough to be wrapped in two or three"),
  );
  await terminal.shown();
  for (const [columns, rows] of [
    [30, 40],
    [18, 40],
    [120, 12],
    [40, 40],
  ] as const) {
    terminal.resize(columns, rows);
    await terminal.shown();
    const { lines } = terminal.screen;
    assert.equal(lines.filter((line) => line.startsWith("a stage")).length, 1, lines.join("\n"));
    assert.equal(lines[0], "before");
    assert.equal(lines.length, 6, lines.join("\n"));
  }
  progress.done();
  await terminal.shown();
  assert.deepEqual(terminal.screen.lines, ["before"]);
});

function whyNoTerminal(): string | false {
  try {
    execFileSync("script", ["-qfec", "stty size", "/dev/null"], { stdio: ["ignore", "pipe", "ignore"] });
    return process.platform === "linux" ? false : "needs Linux";
  } catch {
    return "needs script and stty";
  }
}

test(
  "a lab on a terminal shows its pods, follows its width, and leaves nothing at Ctrl-C",
  { skip: whyNoTerminal() },
  async () => {
    const lab =
      "lab --remedies close --replicas 2 --rps 50 --warm-up 1s --propagation 1s --grace 5s --allow-loss";
    const command = `stty cols 90 rows 30; tty; exec '${process.execPath}' '${program}' ${lab}`;
    const { CI: _, NO_COLOR: __, ...env } = process.env;
    const child = spawn("script", ["-qfec", command, "/dev/null"], {
      env: { ...env, TERM: "xterm" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const screen = new Screen(90, 30);
    let all = "";
    const heard = async (words: RegExp): Promise<void> => {
      while (!words.test(all)) {
        const next = await Promise.race([
          new Promise<Buffer>((bytes) => child.stdout.once("data", bytes)),
          ended.then(() => undefined),
        ]);
        if (!next) throw new Error(`ended without ${words}: ${all}`);
      }
    };
    child.stdout.on("data", (bytes: Buffer) => {
      all += bytes;
      screen.write(bytes);
    });
    const ended = new Promise<number | null>((done) => child.on("close", done));
    const [, device = ""] = (await heard(/^(\/dev\/\S+)/m), /^(\/dev\/\S+)/m.exec(all)) ?? [];
    await heard(/^pod +state +answered +lost/m);
    await heard(/^\S+ +ready +[1-9]\d* +0/m);
    await heard(/^\S+ +(?:holding|stopping|gone) \d/m);
    execFileSync("stty", ["-F", device, "cols", "50", "rows", "20"]);
    await heard(/^pod +state +ok +lost/m);
    child.stdin.write("\x03");
    assert.equal(await ended, 130);
    await new Promise<void>((shown) => screen.write("", shown));
    const { lines } = screen;
    assert.ok(
      lines.some((line) => line.includes("what was measured is kept")),
      lines.join("\n"),
    );
    assert.deepEqual(
      lines.filter((line) => /^\[1\/1\]|^pod +state|^\S+ +(?:ready|holding|stopping|gone)/.test(line)),
      [],
    );
    assert.equal(screen.cursor.x, 0);
  },
);
