/** Called by the name tini or dumb-init it behaves as that program does: the scenarios of their own test suites. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, describe, test } from "node:test";
import { initProgram, nativeProgram, withoutCompiler } from "./compiled.ts";
import { isInstalled } from "../toolchain/compilers.ts";
import {
  childrenOf,
  cwdOf,
  endAll,
  eventually,
  onlyChildOf,
  run,
  Running,
  sessionOf,
  stateOf,
} from "./running.ts";

afterEach(endAll);
const skip = withoutCompiler;
const folder = mkdtempSync(join(tmpdir(), "lameduck-names-"));
after(() => rmSync(folder, { recursive: true }));

function named(name: string): string {
  const path = join(folder, name);
  try {
    symlinkSync(initProgram(), path);
  } catch {
    // There from an earlier test.
  }
  return path;
}

interface Subject {
  readonly title: string;
  readonly tini: () => string;
  readonly dumbInit: () => string;
  readonly skip: string | false;
}

/** The originals go through the same tests where they are installed: so the tests say what those programs really do. */
const subjects: Subject[] = [
  { title: "lameduck-init", tini: () => named("tini"), dumbInit: () => named("dumb-init"), skip },
  {
    title: "the original",
    tini: () => "tini",
    dumbInit: () => "dumb-init",
    skip:
      skip ||
      (isInstalled("tini") && isInstalled("dumb-init") ? false : "tini and dumb-init are not installed"),
  },
];

for (const subject of subjects) {
  const witness = (): string => nativeProgram("witness");

  describe(`tini: ${subject.title}`, { skip: subject.skip }, () => {
    const tini = (arguments_: string[], environment: Record<string, string> = {}): Running =>
      new Running(subject.tini(), arguments_, { env: { ...process.env, ...environment } });

    test(`${subject.title} as tini exits with the program's code, 128 + n, that of -e, 127 and 126, and 1 for bad flags or no program`, async () => {
      const program = ["--", witness()];
      assert.equal((await tini([...program, "exit", "42"]).ended).code, 42);
      assert.equal((await tini([...program, "die", "12"]).ended).code, 140);
      assert.equal((await tini(["-e", "140", ...program, "die", "12"]).ended).code, 0);
      assert.equal((await tini(["-e", "1", "-e", "3", ...program, "exit", "3"]).ended).code, 0);
      assert.equal((await tini(["--", "/no/such/program"]).ended).code, 127);
      assert.equal((await tini(["--", "/etc"]).ended).code, 126);
      assert.equal((await tini(["-b", ...program]).ended).code, 1);
      assert.equal((await tini(["-e", "256", ...program]).ended).code, 1);
      assert.equal((await tini([]).ended).code, 1);
      assert.equal((await tini(["-h"]).ended).code, 0);
      assert.equal((await tini(["--version"]).ended).code, 0);
    });

    test(`${subject.title} as tini ends the program at once at TERM, USR1 and USR2, without a hold unless one is asked for`, async () => {
      for (const [signal, code] of [
        ["SIGTERM", 143],
        ["SIGUSR1", 138],
        ["SIGUSR2", 140],
      ] as const) {
        const program = tini(["-s", "--", "/bin/sh", "-c", "echo up; exec sleep 60"]);
        await program.line("up");
        program.kill(signal);
        assert.equal((await program.ended).code, code);
      }
    });

    test(`${subject.title} as tini signals the program's group with -g or TINI_KILL_PROCESS_GROUP`, async () => {
      for (const [flags, environment] of [
        [["-g"], {}],
        [[], { TINI_KILL_PROCESS_GROUP: "1" }],
      ] as const) {
        const program = tini([...flags, "-s", "--", witness(), "group", "15"], environment);
        await program.line("ready");
        program.kill("SIGUSR1");
        await program.line("child 10");
        program.kill("SIGTERM");
        assert.equal((await program.ended).code, 0);
      }
    });

    test(`${subject.title} as tini adopts orphans with -s or TINI_SUBREAPER, and warns otherwise`, async () => {
      for (const [flags, environment] of [
        [["-s"], {}],
        [[], { TINI_SUBREAPER: "" }],
      ] as const) {
        const program = tini([...flags, "--", witness(), "orphans", "20"], environment);
        await program.line("ready");
        await eventually(() => childrenOf(program.pid).length === 1, "all orphans are reaped");
        program.kill("SIGTERM");
        const { stderr } = await program.ended;
        assert.doesNotMatch(stderr, /zombie reaping won't work/);
      }
      const { stderr } = await tini(["--", witness(), "exit", "0"]).ended;
      assert.match(stderr, /zombie reaping won't work/);
    });

    test(`${subject.title} as tini warns of reaped zombies with -w`, async () => {
      const script = "(sleep 0.01 &) ; sleep 0.3";
      assert.match((await tini(["-s", "-w", "--", "/bin/sh", "-c", script]).ended).stderr, /Reaped zombie/);
      assert.doesNotMatch((await tini(["-s", "--", "/bin/sh", "-c", script]).ended).stderr, /Reaped zombie/);
    });

    test(`${subject.title} as tini gives the child the signal mask and the ignored signals that it was given`, async () => {
      const { stdout } = await run("env", [
        "--ignore-signal=TTOU,SEGV,INT",
        "--block-signal=TTIN,ILL,TERM",
        subject.tini(),
        "-s",
        witness(),
        "status",
      ]);
      const bare = await run("env", [
        "--ignore-signal=TTOU,SEGV,INT",
        "--block-signal=TTIN,ILL,TERM",
        witness(),
        "status",
      ]);
      assert.deepEqual(stdout.split("\n").slice(0, 2), bare.stdout.split("\n").slice(0, 2));
    });
  });

  describe(`dumb-init: ${subject.title}`, { skip: subject.skip }, () => {
    const dumb = (arguments_: string[], environment: Record<string, string> = {}): Running =>
      new Running(subject.dumbInit(), arguments_, { env: { ...process.env, ...environment }, cwd: "/usr" });
    const modes: [string, string[], Record<string, string>][] = [
      ["session", [], {}],
      ["--single-child", ["-c"], {}],
      ["DUMB_INIT_SETSID=0", [], { DUMB_INIT_SETSID: "0" }],
      ["debug", [], { DUMB_INIT_DEBUG: "1" }],
    ];

    for (const [mode, flags, environment] of modes) {
      test(`${subject.title} as dumb-init, ${mode}, passes signals 1 to 31 on in order`, async () => {
        const program = dumb([...flags, witness(), "signals", "31"], environment);
        await program.line("ready");
        // KILL, CHLD and STOP cannot be; TSTP, TTIN and TTOU stop us as well and have their own test.
        const signals = Array.from({ length: 31 }, (_, index) => index + 1).filter(
          (signal) => ![9, 17, 19, 20, 21, 22].includes(signal),
        );
        for (const signal of signals) {
          program.kill(signal);
          await program.line(String(signal));
        }
        assert.deepEqual(program.lines.slice(1).map(Number), signals);
        assert.equal((await program.ended).code, 0);
      });
    }

    test(`${subject.title} as dumb-init rewrites signals: swaps, edges, and 0 drops`, async () => {
      const program = dumb([
        "-r",
        "1:31",
        "-r",
        "10:12",
        "-r",
        "12:10",
        "--rewrite",
        "15:0",
        witness(),
        "signals",
        "28",
      ]);
      await program.line("ready");
      for (const [sent, seen] of [
        [1, 31],
        [10, 12],
        [12, 10],
      ] as const) {
        program.kill(sent);
        await program.line(String(seen));
      }
      program.kill(15);
      program.kill(28);
      assert.equal((await program.ended).code, 0);
      assert.deepEqual(program.lines, ["ready", "31", "12", "10", "28"]);
    });

    test(`${subject.title} as dumb-init refuses a bad rewriting with exit code 1`, async () => {
      for (const bad of ["15", "15:", ":15", "15:abc", "abc:15", "0:15", "65:15", "1:32", "32:1"]) {
        const { code, stderr } = await dumb(["-r", bad, "true"]).ended;
        assert.equal(code, 1, bad);
        assert.notEqual(stderr, "");
      }
    });

    test(`${subject.title} as dumb-init signals the whole session's group, and with -c the child alone`, async () => {
      for (const single of [false, true]) {
        const program = dumb([...(single ? ["-c"] : []), witness(), "group", "15"]);
        await program.line("ready");
        program.kill("SIGUSR1");
        if (!single) await program.line("child 10");
        program.kill("SIGTERM");
        assert.equal((await program.ended).code, 0);
        assert.equal(program.lines.includes("child 10"), !single);
      }
    });

    test(`${subject.title} as dumb-init sends the group TERM when the program ends, and with -c does not`, async () => {
      const program = dumb([witness(), "leftover"]);
      const { code, stdout } = await program.ended;
      assert.equal(code, 7);
      assert.match(stdout, /leftover 15/);
      // In a process group of its own, by which what it leaves behind can be ended.
      const single = new Running(subject.dumbInit(), ["-c", witness(), "leftover"], { detached: true });
      await new Promise((resolve) => single.process.once("exit", resolve));
      assert.equal(single.process.exitCode, 7);
      assert.equal(single.lines.length, 0);
      process.kill(-single.pid, "SIGKILL");
      await single.ended;
    });

    test(`${subject.title} as dumb-init leads no session, and its child does and keeps the working directory`, async () => {
      const { stdout } = await dumb([witness(), "status"]).ended;
      assert.match(stdout, /session own\ncwd \/usr/);
      const single = await dumb(["-c", witness(), "status"]).ended;
      assert.match(single.stdout, /session other/);
      const program = dumb([witness(), "signals", "15"]);
      await program.line("ready");
      await eventually(() => cwdOf(program.pid) === "/", "its working directory is /");
      program.kill("SIGTERM");
      await program.ended;
    });

    // The original goes there beside its program: on a busy machine the program may be first.
    const race = subject.title === "the original" && "the original does not wait for it";
    test(
      `${subject.title} as dumb-init is in / before the program's first instruction, and the program is where it was`,
      { skip: race },
      async () => {
        const script = "readlink /proc/$PPID/cwd; readlink /proc/$$/cwd";
        for (let i = 0; i < 50; i++) {
          const { stdout } = await dumb(["/bin/sh", "-c", script]).ended;
          assert.equal(stdout, "/\n/usr");
        }
      },
    );

    test(`${subject.title} as dumb-init starts the child with no signal blocked or ignored, whatever it was given`, async () => {
      const before = ["--ignore-signal=TTOU,USR2,INT,CHLD", "--block-signal=TTIN,ILL,TERM"];
      for (const flags of [[], ["-c"]]) {
        const { stdout } = await run("env", [...before, subject.dumbInit(), ...flags, witness(), "status"]);
        const masks = stdout.split("\n").slice(0, 2);
        assert.deepEqual(masks, ["SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"]);
      }
    });

    test(`${subject.title} as dumb-init exits with the program's code, 128 + n, 2 when it cannot be run, and 1 for bad flags or no program`, async () => {
      for (const code of [0, 1, 2, 32, 64, 127, 254, 255])
        assert.equal((await dumb([witness(), "exit", String(code)]).ended).code, code);
      for (const signal of [1, 3, 9, 15])
        assert.equal((await dumb([witness(), "die", String(signal)]).ended).code, 128 + signal);
      assert.equal((await dumb(["/no/such/program"]).ended).code, 2);
      assert.equal((await dumb(["--no-such-flag"]).ended).code, 1);
      assert.equal((await dumb([]).ended).code, 1);
      assert.equal((await dumb(["-h"]).ended).code, 0);
      assert.equal((await dumb(["-V"]).ended).code, 0);
    });

    test(`${subject.title} as dumb-init stops its session and itself at TSTP, and resumes both at CONT`, async () => {
      const program = dumb(["sleep", "60"]);
      await eventually(() => childrenOf(program.pid).length === 1, "the program runs");
      const child = onlyChildOf(program.pid);
      await eventually(() => sessionOf(child) === child, "it has its session");
      for (const signal of ["SIGTSTP", "SIGTTIN", "SIGTTOU"]) {
        program.kill(signal);
        await eventually(
          () => stateOf(child) === "T" && stateOf(program.pid) === "T",
          `${signal} stops both`,
        );
        program.kill("SIGCONT");
        await eventually(() => stateOf(child) === "S" && stateOf(program.pid) === "S", "both go on");
      }
      program.kill("SIGTERM");
      assert.equal((await program.ended).code, 143);
    });

    test(`${subject.title} as dumb-init with -c lets the child see TSTP itself`, async () => {
      const program = dumb(["-c", witness(), "signals", "15"]);
      await program.line("ready");
      program.kill("SIGTSTP");
      await program.line("20");
      await eventually(() => stateOf(program.pid) === "T", "dumb-init stops");
      program.kill("SIGCONT");
      await program.line("18");
      program.kill("SIGTERM");
      assert.equal((await program.ended).code, 0);
    });
  });
}

describe("a hold under the names of others", { skip }, () => {
  test("a hold under another program's name is silent, and tells of its beginning and end at -v", async () => {
    const env = { ...process.env, LAMEDUCK_POLICY: "fixed", LAMEDUCK_DELAY: "10ms", LAMEDUCK_FLOOR: "0s" };
    for (const name of ["tini", "dumb-init"])
      for (const flags of [[], ["-v"]]) {
        const program = new Running(named(name), [...flags, nativeProgram("witness"), "signals", "15"], {
          env,
        });
        await program.line("ready");
        program.kill("SIGTERM");
        const { code, stderr } = await program.ended;
        assert.equal(code, 0);
        assert.equal(
          /SIGTERM: holding until[^]*held for/.test(stderr),
          flags.length > 0,
          `${name}: ${stderr}`,
        );
      }
  });
});
