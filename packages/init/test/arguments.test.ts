/** What users get wrong: a coded error, the place, the remedy, exit 2; never a program started on a misunderstanding. */
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { initProgram, withoutCompiler } from "./compiled.ts";
import { endAll, Running } from "./running.ts";

afterEach(endAll);

interface Mistake {
  readonly words: string;
  readonly environment?: Record<string, string>;
  readonly says: RegExp;
}

const mistakes: Mistake[] = [
  { words: "--no-such-flag -- true", says: /LAMEDUCK_UNKNOWN_OPTION: --no-such-flag: .*spelling/ },
  { words: "-z -- true", says: /LAMEDUCK_UNKNOWN_OPTION: -z/ },
  { words: "", says: /LAMEDUCK_MISSING_COMMAND: .*-- PROGRAM/ },
  { words: "--", says: /LAMEDUCK_MISSING_COMMAND/ },
  { words: "--floor", says: /LAMEDUCK_MISSING_OPTION: --floor: needs a value/ },
  { words: "--wait-for -- true", says: /LAMEDUCK_MISSING_OPTION: --wait-for: needs a value/ },
  { words: "-p -- true", says: /LAMEDUCK_MISSING_OPTION: -p: needs a value/ },
  {
    words: "--max-senders 0 -- true",
    says: /LAMEDUCK_BAD_NUMBER: --max-senders: 0 is not a whole number from 1 to 4096;/,
  },
  {
    words: "-- true",
    environment: { LAMEDUCK_FLOOR: "1\u001b[2J\nerror: \u0085\u2066é\u2069" },
    says: /LAMEDUCK_FLOOR: "1\\u001b\[2J\\u000aerror: \\u0085\\u2066é\\u2069" is not a duration/,
  },
  { words: "--floor soon -- true", says: /LAMEDUCK_BAD_DURATION: --floor: "soon" is not a duration/ },
  { words: "--floor -1s -- true", says: /LAMEDUCK_BAD_DURATION: --floor: "-1s" is negative/ },
  { words: "--floor 31d -- true", says: /LAMEDUCK_BAD_DURATION/ },
  {
    words: "--cap 40s -- true",
    says: /LAMEDUCK_CAP_ABOVE_GRACE: --cap: 40s is more than 30s grace - 0s preStop - 5s reserve = 25s/,
  },
  { words: "--floor 26s -- true", says: /LAMEDUCK_FLOOR_ABOVE_CAP: --floor: 26s is above the cap of 25s/ },
  { words: "--grace 5s --reserve 5s -- true", says: /LAMEDUCK_NO_TIME_TO_HOLD/ },
  {
    words: "--policy perhaps -- true",
    says: /LAMEDUCK_UNKNOWN_POLICY: --policy: "perhaps" is not one of fixed, until-deadline, quiet, adaptive, acknowledged;/,
  },
  {
    words: "--policy acknowledged -- true",
    says: /LAMEDUCK_MISSING_OPTION: --policy: acknowledged needs a coordinator/,
  },
  { words: "--policy fixed -- true", says: /LAMEDUCK_MISSING_OPTION: --delay: .* needs a delay/ },
  { words: "--loss-budget none -- true", says: /LAMEDUCK_BAD_NUMBER: --loss-budget/ },
  { words: "--loss-budget -1 -- true", says: /LAMEDUCK_BAD_NUMBER/ },
  { words: "--signal TERM=NONSENSE -- true", says: /LAMEDUCK_BAD_SIGNAL: --signal: "TERM=NONSENSE"/ },
  {
    words: "--signal TERM -- true",
    says: /LAMEDUCK_BAD_SIGNAL: --signal: "TERM" is no pair of signals.*TERM=USR1/,
  },
  { words: "--rewrite TERM -- true", says: /LAMEDUCK_BAD_SIGNAL: --rewrite/ },
  { words: "-p NONSENSE -- true", says: /LAMEDUCK_BAD_SIGNAL: --parent-death/ },
  { words: "-e 256 -- true", says: /LAMEDUCK_BAD_NUMBER: -e/ },
  { words: "--port 70000 -- true", says: /LAMEDUCK_BAD_ADDRESS: --port: "70000" is no port/ },
  { words: "--port 80,x -- true", says: /LAMEDUCK_BAD_ADDRESS: --port: "x" is no port/ },
  { words: "--port 80, -- true", says: /LAMEDUCK_BAD_ADDRESS: --port: "" is no port/ },
  { words: "--ignore-peer 10.0.0.0/33 -- true", says: /LAMEDUCK_BAD_ADDRESS: --ignore-peer/ },
  { words: "--probe-period 10 -- true", says: /LAMEDUCK_BAD_DURATION: --probe-period: "10"/ },
  {
    words: "-- true",
    environment: { LAMEDUCK_PROBE_PERIOD: "10s,0s" },
    says: /LAMEDUCK_BAD_DURATION: LAMEDUCK_PROBE_PERIOD: "0s" is no period of probes/,
  },
  {
    words: "--coordinator https://c:8070 -- true",
    says: /LAMEDUCK_BAD_COORDINATOR: --coordinator: is no http:\/\/HOST:PORT/,
  },
  {
    words: "--coordinator http://c:18446744073709551696 -- true",
    says: /LAMEDUCK_BAD_COORDINATOR: --coordinator: is no http:\/\/HOST:PORT/,
  },
  { words: "--coordinator http://c:0 -- true", says: /LAMEDUCK_BAD_COORDINATOR: --coordinator/ },
  { words: "--coordinator http://[::1 -- true", says: /LAMEDUCK_BAD_COORDINATOR: --coordinator/ },
  { words: "--coordinator http://c:8070/x -- true", says: /LAMEDUCK_BAD_COORDINATOR: --coordinator/ },
  {
    words: "--coordinator http://c:8070 --pod-name web -- true",
    says: /LAMEDUCK_BAD_COORDINATOR: --coordinator: needs the pod's name, namespace and uid/,
  },
  {
    words: "--coordinator http://c --pod-name a/b --pod-namespace n --pod-uid u -- true",
    says: /LAMEDUCK_BAD_COORDINATOR: --pod-name: is no name/,
  },
  { words: "--streams perhaps -- true", says: /LAMEDUCK_BAD_CHOICE: --streams/ },
  { words: "--log xml -- true", says: /LAMEDUCK_BAD_CHOICE: --log/ },
  { words: "wait true", says: /LAMEDUCK_UNKNOWN_OPTION: true: wait takes no program/ },
  {
    words: "-- true",
    environment: { LAMEDUCK_FLOOR: "soon" },
    says: /LAMEDUCK_BAD_DURATION: LAMEDUCK_FLOOR/,
  },
  { words: "-- true", environment: { LAMEDUCK_PORT: "80,x" }, says: /LAMEDUCK_BAD_ADDRESS: LAMEDUCK_PORT/ },
  {
    words: "-- true",
    environment: { LAMEDUCK_GRACE_PERIOD: "4s", LAMEDUCK_PRESTOP: "5s" },
    says: /LAMEDUCK_NO_TIME_TO_HOLD: LAMEDUCK_GRACE_PERIOD/,
  },
  { words: "--no-hold=3 -- true", says: /LAMEDUCK_UNKNOWN_OPTION: --no-hold=3: takes no value/ },
  { words: "--window abc -- true", says: /LAMEDUCK_BAD_DURATION: --window: "abc"/ },
  { words: "--delay 20s -- true", says: /LAMEDUCK_MISSING_OPTION: --delay: needs --policy fixed/ },
  {
    words: "--policy quiet --loss-budget 0.1 -- true",
    says: /LAMEDUCK_MISSING_OPTION: --loss-budget: needs --policy adaptive/,
  },
  { words: "--stop-signal KILL -- true", says: /LAMEDUCK_BAD_SIGNAL: --stop-signal: "KILL"/ },
  {
    words: "wait --then KILL",
    says: /LAMEDUCK_BAD_SIGNAL: --then: "KILL" is no signal that the program can handle/,
  },
  {
    words: "--then USR1 -- true",
    says: /LAMEDUCK_UNKNOWN_OPTION: --then: is an option of wait; with a program it is --signal TERM=10/,
  },
  { words: "--stop-signal STOP -- true", says: /LAMEDUCK_BAD_SIGNAL: --stop-signal: "STOP"/ },
];

function init(words: string, environment: Record<string, string> = {}): Running {
  const arguments_ = words.split(" ").filter((word) => word !== "");
  return new Running(initProgram(), arguments_, {
    env: { PATH: process.env["PATH"], ASAN_OPTIONS: process.env["ASAN_OPTIONS"], ...environment },
  });
}

describe("arguments", { skip: withoutCompiler }, () => {
  for (const { words, environment, says } of mistakes)
    test(`the arguments are refused: ${words} ${environment ? JSON.stringify(environment) : ""}`, async () => {
      const { code, stderr, stdout } = await init(words, environment).ended;
      assert.equal(code, 2, stderr);
      assert.match(stderr, says);
      assert.match(stderr, /\(lameduck-init --help lists all options\)/);
      assert.equal(stderr.trim().split("\n").length, 1, "one line");
      assert.equal(stdout, "");
    });

  test("variables do all that flags do, and a flag wins over its variable", async () => {
    const expected = new Running(initProgram(), ["--", "sh", "-c", "exit 4"], {
      env: { ...process.env, LAMEDUCK_EXPECT: "3, 4" },
    });
    assert.equal((await expected.ended).code, 0);
    assert.equal((await init("-- true", { LAMEDUCK_PROBE_PERIOD: "10s,10s,5s" }).ended).code, 0);
    assert.equal((await init("--floor 1s -- true", { LAMEDUCK_FLOOR: "2s" }).ended).code, 0);
    assert.equal((await init("--cap=20s -- true", { LAMEDUCK_CAP: "99s" }).ended).code, 0);
  });

  test("injected times that contradict the flags are left out, and the program starts", async () => {
    const told = { LAMEDUCK_GRACE_PERIOD: "85s", LAMEDUCK_PRESTOP: "25s" };
    const { code, stderr } = await init("--grace 60s --cap 50s -- true", told).ended;
    assert.equal(code, 0, stderr);
    assert.match(
      stderr,
      /LAMEDUCK_PRESTOP are left out, as flags need more: 50s is more than 60s grace - 25s preStop/,
    );
    assert.equal((await init("--cap 20s -- true", { LAMEDUCK_GRACE_PERIOD: "3000000s" }).ended).code, 0);
    assert.equal((await init("--cap 90s -- true", told).ended).code, 2, "wrong without them, too");
  });

  test("the variables of a Service named lameduck change nothing", async () => {
    const ofService = {
      LAMEDUCK_SERVICE_HOST: "10.96.0.7",
      LAMEDUCK_SERVICE_PORT: "80",
      LAMEDUCK_SERVICE_PORT_HTTP: "80",
      LAMEDUCK_PORT: "tcp://10.96.0.7:80",
      LAMEDUCK_PORT_80_TCP: "tcp://10.96.0.7:80",
      LAMEDUCK_PORT_80_TCP_PROTO: "tcp",
      LAMEDUCK_PORT_80_TCP_PORT: "80",
      LAMEDUCK_PORT_80_TCP_ADDR: "10.96.0.7",
      // Another one, named lameduck-ignore.
      LAMEDUCK_IGNORE_PORT: "udp://10.96.0.8:53",
      LAMEDUCK_IGNORE_SERVICE_HOST: "10.96.0.8",
    };
    for (const words of ["-- true", "--help", "wait --help"]) {
      const { code, stderr } = await init(words, ofService).ended;
      assert.equal(code, 0, stderr);
      assert.equal(stderr, "");
    }
  });

  test("a coordinator address in the environment that is invalid is one warning, and the program runs", async () => {
    const pod = { LAMEDUCK_POD_NAME: "web-7d", LAMEDUCK_POD_NAMESPACE: "shop", LAMEDUCK_POD_UID: "0f3c-11" };
    const where = { LAMEDUCK_COORDINATOR: "http://[fd00::1]:8070/" };
    for (const [environment, says] of [
      [{ ...pod, ...where }, /^$/],
      // Of a Service of that name.
      [{ ...pod, LAMEDUCK_COORDINATOR: "tcp://10.96.0.7:80" }, /^$/],
      [{ ...pod, LAMEDUCK_COORDINATOR: "yes" }, /warning: LAMEDUCK_COORDINATOR is no http.*not asked\n$/],
      [{ ...pod, ...where, LAMEDUCK_POD_UID: "a b" }, /warning: LAMEDUCK_POD_UID is no name.*not asked\n$/],
      [where, /warning: LAMEDUCK_COORDINATOR needs the pod's name, namespace and uid.*not asked\n$/],
      [pod, /^$/],
    ] as const) {
      const { code, stderr } = await init("-- true", environment).ended;
      assert.equal(code, 0);
      assert.match(stderr, says);
    }
    assert.equal((await init("--policy acknowledged -- true", { ...pod, ...where }).ended).code, 0);
  });

  test("the policy acknowledged from a variable without a coordinator is a warning, and the program starts", async () => {
    const asked = { LAMEDUCK_POLICY: "acknowledged" };
    for (const [environment, says] of [
      [asked, /warning: LAMEDUCK_POLICY: acknowledged needs a coordinator .*; adaptive decides\n$/],
      [{ ...asked, LAMEDUCK_COORDINATOR: "yes" }, /warning: LAMEDUCK_COORDINATOR is no http.*not asked\n$/],
    ] as const) {
      const { code, stderr } = await init("-- true", environment).ended;
      assert.equal(code, 0, stderr);
      assert.match(stderr, says);
    }
  });

  test("the help is printed also where variables are wrong", async () => {
    const { code, stdout } = await init("--help", { LAMEDUCK_PORT: "nonsense" }).ended;
    assert.equal(code, 0);
    assert.match(stdout, /--port/);
  });

  test("the flag --log json gives mistakes as JSON, too, wherever it stands", async () => {
    for (const [words, environment] of [
      ["--log json --flor 3s -- true", {}],
      ["--flor 3s --log=json -- true", {}],
      ["--flor 3s -- true", { LAMEDUCK_LOG: "json" }],
    ] as const) {
      const { code, stderr } = await init(words, environment).ended;
      assert.equal(code, 2);
      const line = JSON.parse(stderr) as Record<string, unknown>;
      assert.equal(line["level"], "error");
      assert.equal(line["code"], "LAMEDUCK_UNKNOWN_OPTION");
      assert.equal(line["option"], "--flor");
      assert.match(String(line["message"]), /did you mean --floor\?/);
    }
  });

  test("a misspelt variable is one warning with the nearest name, and other unknown variables are ignored", async () => {
    const { code, stderr } = await init("-- true", {
      LAMEDUCK_GRACE_PERIDO: "60s",
      LAMEDUCK_SOMETHING_OF_TOMORROW: "1",
      LAMEDUCKLING: "1",
    }).ended;
    assert.equal(code, 0);
    assert.equal(
      stderr,
      "lameduck-init: warning: LAMEDUCK_GRACE_PERIDO is unknown; did you mean LAMEDUCK_GRACE_PERIOD?\n",
    );
  });

  test("a variable that the policy does not use, or a delay above the cap, is one warning", async () => {
    for (const [environment, says] of [
      [{ LAMEDUCK_DELAY: "3s" }, /LAMEDUCK_DELAY does nothing: .*policy fixed.*is adaptive/],
      [{ LAMEDUCK_POLICY: "fixed", LAMEDUCK_DELAY: "3m" }, /LAMEDUCK_DELAY of 180s is cut to the cap of 25s/],
    ] as const) {
      const { code, stderr } = await init("-- true", environment).ended;
      assert.equal(code, 0);
      assert.match(stderr, says);
      assert.equal(stderr.trim().split("\n").length, 1);
    }
  });

  test("the texts of help, version and license go to stdout", async () => {
    for (const flag of ["--help", "-h", "--version", "-V", "--license", "-l"]) {
      const { code, stdout, stderr } = await init(flag).ended;
      assert.equal(code, 0);
      assert.notEqual(stdout, "");
      assert.equal(stderr, "");
    }
  });
});
