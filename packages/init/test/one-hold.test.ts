/** Of init, preStop hook and library, one holds, whatever the combination; and `lameduck-init end` ends that hold. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { initProgram, nativeProgram, withoutCompiler } from "./compiled.ts";
import { Container } from "./container.ts";
import { reportOf } from "./pod.ts";
import { endAll, run, withoutNamespaces } from "./running.ts";

after(endAll);
const skip = withoutCompiler || withoutNamespaces;

/** Milliseconds. Two holds, one after the other, take more than the grace period. */
const [delay, grace] = [3_000, 5_500];
const times = ["KUBERNETES_SERVICE_HOST=10.0.0.1", "LAMEDUCK_GRACE_PERIOD=5500ms", "LAMEDUCK_RESERVE=1s"];
const pod = ["env", ...times, "LAMEDUCK_POLICY=fixed", "LAMEDUCK_DELAY=3s"];

const library = fileURLToPath(new URL("../../node/dist/index.js", import.meta.url));
const register = fileURLToPath(new URL("../../node/dist/register.js", import.meta.url));
/** `attach`: when the library is attached, in ms after the server listens; -1: never. */
const app = (attach: number, isTold = false): string[] => [
  process.execPath,
  "--input-type=module",
  "--eval",
  `import { createServer } from "node:http";
   import { lameduck } from ${JSON.stringify(library)};
   const server = createServer((request, response) => response.end("ok"));
   const attach = () => { const duck = lameduck(server); if (${isTold}) setTimeout(() => duck.terminate(), 0); };
   if (${attach} === 0) attach();
   server.listen(80, "127.0.0.1", () => console.log("listening"));
   if (${attach} > 0) setTimeout(attach, ${attach});`,
];
const zeroCode = [process.execPath, "--import", register, ...app(-1).slice(1)];
/** Passes SIGTERM on, and waits for its end. */
const forwarding = ["sh", "-c", `"$@" & trap 'kill -TERM $!' TERM; wait $!; wait $!`, "sh"];

interface Case {
  readonly title: string;
  readonly program: () => readonly string[];
  /** What is run before SIGTERM, as the kubelet runs a preStop hook. */
  readonly hook?: boolean;
  readonly holds: "init" | "library" | "wait";
  readonly says?: RegExp;
}

const init = (...flags: string[]): string[] => [initProgram(), ...flags, "--"];
const folder = mkdtempSync(join(tmpdir(), "lameduck-names-"));
after(() => rmSync(folder, { recursive: true }));
const tini = (): string[] => {
  const name = join(folder, "tini");
  rmSync(name, { force: true });
  symlinkSync(initProgram(), name);
  return [name, "--"];
};
const noShm = ["sh", "-c", 'umount /dev/shm; mount -t tmpfs -o ro none /dev/shm; exec "$0" "$@"'];

const cases: readonly Case[] = [
  {
    title: "init, library in code",
    program: () => [...init(), ...app(0)],
    holds: "library",
    says: /holds by itself/,
  },
  { title: "init, library without code", program: () => [...init(), ...zeroCode], holds: "library" },
  { title: "by the name tini, library in code", program: () => [...tini(), ...app(0)], holds: "library" },
  {
    title: "init that sends another signal, which the library does not know",
    program: () => [...init("--signal", "TERM=QUIT"), ...app(0)],
    holds: "init",
  },
  {
    title: "a shell between init and library",
    program: () => [...init(), ...forwarding, ...app(0)],
    holds: "init",
    says: /no second hold/,
  },
  {
    title: "library attached during the hold of the init",
    program: () => [...init(), ...app(1_500)],
    holds: "init",
    says: /no second hold/,
  },
  {
    title: "init before a program without the library",
    program: () => [...init(), ...app(-1)],
    holds: "init",
  },
  {
    title: "init and library without a /dev/shm to write to",
    program: () => [...noShm, ...init(), ...app(0)],
    holds: "init",
  },
  {
    title: "init whose file others wait for, and library",
    program: () => [...init("--ready-file", "/dev/shm/ready"), ...app(0)],
    holds: "init",
    says: /no second hold/,
  },
  // As an httpGet hook does, which tells the library before SIGTERM.
  {
    title: "init, and a library that was told otherwise before",
    program: () => [...init(), ...app(0, true)],
    holds: "library",
    says: /holds by itself/,
  },
  {
    title: "hook, library",
    program: () => app(0),
    hook: true,
    holds: "library",
    says: /nothing is held before it/,
  },
  {
    title: "hook, init, library",
    program: () => [...init(), ...app(0)],
    hook: true,
    holds: "wait",
    says: /no second hold/,
  },
  {
    title: "hook, init, program without the library",
    program: () => [...init(), ...app(-1)],
    hook: true,
    holds: "wait",
    says: /wait has held for/,
  },
  {
    title: "hook, and an init between it and the library that is not ours",
    program: () => [...forwarding, ...app(0)],
    hook: true,
    holds: "wait",
    says: /no second hold/,
  },
];

/** Who held for all of the delay. */
function heldOf(log: string): string[] {
  const lengths = log
    .split("\n")
    .filter((line) => line.startsWith("{") && /"hold(-ended)?"/.test(line))
    .map((line) => JSON.parse(line) as { event?: string; on?: string; hold_ms?: number; hold?: number });
  return lengths.flatMap(({ event, hold_ms: byInit = 0, hold = 0 }) =>
    Math.max(byInit, hold) >= delay - 50 ? [event === undefined ? "library" : "init"] : [],
  );
}

describe("one of them holds", { skip, concurrency: 3 }, () => {
  before(() => void initProgram());
  for (const { title, program, hook = false, holds, says } of cases)
    test(`the ${holds} alone holds: ${title}`, async () => {
      const container = new Container(...pod, "LAMEDUCK_LOG=json", ...program());
      await container.main.line("listening");
      const begun = Date.now();
      let ofHook = "";
      if (hook) {
        const run = container.exec(...pod, initProgram(), "wait", "--log", "json");
        ofHook = (await run.ended).stderr;
      }
      container.signal("SIGTERM");
      await container.main.ended;
      const log = container.log.lines.join("\n");
      const own = log
        .split("\n")
        .filter((line) => !ofHook.includes(line) || line === "")
        .join("\n");
      // By the name of tini the init says nothing.
      const held = [...heldOf(own), ...heldOf(ofHook).map(() => "wait")];
      assert.deepEqual(held, [holds], `${log}\n${ofHook}`);
      // The library knows when SIGKILL comes: counted from the first signal or hook, not from its own.
      for (const [, deadline] of log.matchAll(/"deadline":(\d+)/g))
        assert.ok(Number(deadline) < begun + grace + delay / 2, log);
      if (says) assert.match(log, says);
    });
});

test(
  "the hook holds where its floor is longer than the library's hold, whatever its delay",
  { skip },
  async () => {
    const short = ["env", ...times, "LAMEDUCK_POLICY=fixed", "LAMEDUCK_DELAY=1500ms", "LAMEDUCK_LOG=json"];
    const container = new Container(...short, ...app(0));
    await container.main.line("listening");
    const hook = container.exec(
      ...pod,
      "LAMEDUCK_DELAY=1s",
      "LAMEDUCK_FLOOR=3s",
      initProgram(),
      "wait",
      "--log",
      "json",
    );
    const { stderr } = await hook.ended;
    assert.deepEqual(heldOf(stderr), ["init"], stderr);
    container.signal("SIGTERM");
    await container.main.ended;
  },
);

test("programs that stand side by side hold each for itself", { skip }, async () => {
  const witness = (port: string): string => `${initProgram()} -- ${nativeProgram("witness")} deaf ${port} &`;
  const script = `${witness("80")} one=$!; ${witness("81")} two=$!; echo $one $two; wait $one; wait $two`;
  const container = new Container(...pod, "LAMEDUCK_DELAY=1s", "LAMEDUCK_LOG=json", "sh", "-c", script);
  await container.main.until(() => container.main.lines.length === 3, "both run");
  const [pids = ""] = container.main.lines.filter((line) => line !== "ready");
  const ended = (): number =>
    container.log.lines.filter((line) => line.includes('"event":"hold-ended"')).length;
  const [one = "", two = ""] = pids.split(" ");
  await container.exec("kill", "-TERM", one).ended;
  await container.log.until(() => ended() === 1);
  await container.exec("kill", "-TERM", two).ended;
  await container.main.ended;
  await container.log.until(() => container.log.lines.length >= 4, "both have said what they do");
  assert.equal(ended(), 2, container.log.lines.join("\n"));
});

test(
  "an image's STOPSIGNAL that nobody named is passed on with a line that says what to set, and other signals without one",
  { skip },
  async () => {
    const witness = [nativeProgram("witness"), "signals", "3"];
    const quit = new Container(...pod, ...tini(), ...witness);
    await quit.main.line("ready");
    for (const name of ["SIGHUP", "SIGUSR2"] as const) quit.signal(name);
    await quit.exec("kill", "-USR1", "1").ended;
    await quit.main.line("10");
    quit.signal("SIGQUIT");
    await quit.main.ended;
    await quit.log.until(() => quit.log.lines.length > 0);
    assert.equal(quit.log.lines.length, 1, quit.log.lines.join("\n"));
    assert.match(
      quit.log.lines.join(),
      /SIGQUIT came from outside .* nothing is held: .* set --stop-signal SIGQUIT \(LAMEDUCK_STOP_SIGNAL=SIGQUIT\)$/,
    );
  },
);

describe("lameduck-init end", { skip, concurrency: 3 }, () => {
  before(() => void initProgram());
  const long = ["env", "KUBERNETES_SERVICE_HOST=10.0.0.1", "LAMEDUCK_POLICY=fixed", "LAMEDUCK_DELAY=20s"];
  const end = (container: Container): ReturnType<Container["exec"]> =>
    container.exec("env", "LAMEDUCK_FLOOR=nonsense", initProgram(), "end", "--log", "json");

  test("lameduck-init end says where nothing is held, and exits with 1", async () => {
    const container = new Container(...long, ...init(), nativeProgram("witness"), "deaf", "80");
    await container.main.line("ready");
    const ended = await end(container).ended;
    assert.equal(ended.code, 1, ended.stderr);
    assert.match(ended.stderr, /"nothing-held"/);
  });

  test("lameduck-init end ends the hold of an init as forced, and the program is stopped", async () => {
    const container = new Container(...long, "LAMEDUCK_LOG=json", ...init(), ...app(-1));
    await container.main.line("listening");
    container.signal("SIGTERM");
    await container.log.until(() => container.log.lines.join().includes("hold-began"));
    const ended = await end(container).ended;
    assert.equal(ended.code, 0, ended.stderr);
    assert.match(ended.stderr, /"event":"ended","program":"init","pid":1/);
    await container.main.ended;
    const report = reportOf(container.log.lines.join("\n"));
    assert.deepEqual([report.reason, report.because], ["forced", "lameduck-init end"]);
  });

  test("lameduck-init end ends the hold of a hook, which then exits with 0", async () => {
    const container = new Container(nativeProgram("witness"), "deaf", "80");
    await container.main.line("ready");
    const hook = container.exec(...long, initProgram(), "wait", "--log", "json");
    await hook.says("hold-began");
    const ended = await end(container).ended;
    assert.equal(ended.code, 0, ended.stderr);
    assert.match(ended.stderr, /"event":"ended","program":"wait"/);
    assert.equal((await hook.ended).code, 0);
    assert.equal(reportOf(hook.stderr).reason, "forced");
  });

  test("lameduck-init end ends the hold of the library, as process 1 and below an init", async () => {
    for (const before of [[], init()]) {
      const container = new Container(...long, ...before, ...app(0));
      await container.main.line("listening");
      container.signal("SIGTERM");
      await container.log.until(() => container.log.lines.join().includes('"lame-duck"'));
      const ended = await end(container).ended;
      assert.equal(ended.code, 0, ended.stderr);
      assert.match(ended.stderr, /"event":"ended","program":"library"/);
      assert.equal((await container.main.ended).code, 0);
      assert.match(container.log.lines.join("\n"), /"phase":"closing","reason":"forced"/);
    }
  });

  test("the documented shell lines end a hold without the binary, and what an earlier request left ends no hold", async () => {
    const page = readFileSync(
      fileURLToPath(new URL("../../../docs/reference/init.md", import.meta.url)),
      "utf8",
    );
    const [, lines = ""] = /```sh\n(for file in [^`]*)```/.exec(page) ?? [];
    assert.notEqual(lines, "");
    const container = new Container(...long, ...app(0));
    await container.main.line("listening");
    const stale = 'echo 0 >"/dev/shm/lameduck-end-$(stat -Lc %i /proc/self/ns/mnt)-1"';
    assert.equal((await container.exec("sh", "-c", stale).ended).code, 0);
    container.signal("SIGTERM");
    await container.log.until(() => container.log.lines.join().includes('"lame-duck"'));
    await pause(500);
    assert.doesNotMatch(container.log.lines.join(), /"closing"/);
    assert.equal((await container.exec("sh", "-c", lines).ended).code, 0);
    await container.main.ended;
    assert.match(container.log.lines.join("\n"), /"phase":"closing","reason":"forced"/);
  });

  test("lameduck-init end takes no argument, and the help names it", async () => {
    const wrong = await run(initProgram(), ["end", "7"]);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /LAMEDUCK_UNKNOWN_OPTION: 7: end takes no argument/);
    assert.match((await run(initProgram(), ["--help"])).stdout, /lameduck-init end /);
  });
});
