import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { onlySleep } from "../src/model/only-sleep.ts";

const sh = (script: string): string[] => ["sh", "-c", script];

/** Seconds, or seconds and signal. */
function told(argv: readonly string[], env: Readonly<Record<string, string>> = {}): unknown {
  const found = onlySleep(argv, new Map(Object.entries(env)));
  return "because" in found
    ? undefined
    : found.stop === undefined
      ? found.seconds
      : [found.seconds, found.stop.signal, found.stop.by ?? 1];
}

describe("a hook that only sleeps, as people write it", () => {
  const shapes: [argv: string[], expected: unknown][] = [
    [["sleep", "15"], 15],
    [["/bin/sleep", "15s"], 15],
    [["/usr/bin/sleep", "1m"], 60],
    [["sleep", "0.5"], 1],
    [["sleep", "1m", "30s", ".5"], 91],
    [["busybox", "sleep", "7"], 7],
    [["/bin/busybox", "sh", "-c", "sleep 7"], 7],
    [["sleep", "0"], 0],
    [sh("sleep 15"), 15],
    [["/bin/ash", "-c", "sleep 15"], 15],
    [["/bin/bash", "-ec", "sleep 15"], 15],
    [["bash", "-lc", "sleep 15"], 15],
    [["bash", "-euo", "pipefail", "-c", "sleep 15"], 15],
    [["sh", "-c", "--", "sleep 15"], 15],
    [["sh", "-c", "sleep 15", "preStop"], 15],
    [sh("sleep 15;"), 15],
    [sh("sleep 15; exit 0"), 15],
    [sh("sleep 15 && exit 0"), 15],
    [sh("sleep 15 || exit 1"), 15],
    [sh("sleep 15 && true"), 15],
    [sh("sleep 15 || true"), 15],
    [sh("exec sleep 15"), 15],
    [sh("'sleep' \"15\""), 15],
    [sh("sleep \\\n  15"), 15],
    [sh("set -e\n# senders need this long\nsleep 10 # seconds\n\nsleep 5\n"), 15],
    [sh("echo preStop hook; sleep 10"), 10],
    [sh("echo 'closing...' > /proc/1/fd/1; sleep 5"), 5],
    [sh('echo "`date -Is` pod ends in 21s (preStop)" >> /proc/1/fd/1; sleep 21'), 21],
    [sh('echo "$(date +%T) preStop of ${HOSTNAME}"; sleep 5'), 5],
    [sh("printf '%s\\n' waiting >&2 && sleep 20 2>&1"), 20],
    [sh("date; sleep 30; date"), 30],
    [sh("sleep 15 >/dev/null 2>&1"), 15],
    // With the start of a graceful stop behind the sleep.
    [sh("sleep 15 && kill -QUIT 1"), [15, "SIGQUIT", 1]],
    [sh("sleep 10 && kill -TERM 1"), [10, "SIGTERM", 1]],
    [sh("sleep 10; kill 1"), [10, "SIGTERM", 1]],
    [sh("sleep 10; /bin/kill -s SIGUSR1 1"), [10, "SIGUSR1", 1]],
    [sh("sleep 10; kill -3 -- 1"), [10, "SIGQUIT", 1]],
    [sh("sleep 5 && nginx -s quit"), [5, "SIGQUIT", "nginx"]],
    [sh("sleep 15; /usr/sbin/nginx -s quit; sleep 10"), [15, "SIGQUIT", "nginx"]],
    [
      sh("sleep 5; /srv/nginx/nginx -c /etc/n.conf -s quit; while pgrep -x nginx; do sleep 1; done"),
      [5, "SIGQUIT", "nginx"],
    ],
    [sh("sleep 5 && nginx -s quit && while killall -0 nginx; do\n  sleep 1\ndone"), [5, "SIGQUIT", "nginx"]],
    [
      sh("sleep 3; nginx -s quit\nwhile pidof nginx >/dev/null\ndo\nsleep .5\ndone\nexit 0"),
      [3, "SIGQUIT", "nginx"],
    ],
    [sh("sleep 20; apachectl -k graceful-stop"), [20, "SIGWINCH", "Apache httpd"]],
    [sh("sleep 15; kill -QUIT 1 || true"), [15, "SIGQUIT", 1]],
    [["/usr/bin/env", "bash", "-c", "sleep 15; wait"], 15],
    [sh("sleep 15; killall -USR1 haproxy"), [15, "SIGUSR1", "HAProxy"]],
    [sh("sleep 15; pkill -QUIT -x php-fpm"), [15, "SIGQUIT", "PHP-FPM"]],
    [sh('sleep 15; kill -QUIT "$(cat /run/nginx.pid)"'), [15, "SIGQUIT", "nginx"]],
    [sh("sleep 15 && kill -s USR1 $(pidof haproxy)"), [15, "SIGUSR1", "HAProxy"]],
  ];
  for (const [argv, expected] of shapes)
    test(`a hook only sleeps, ${JSON.stringify(expected)}: ${JSON.stringify(argv)}`, () => {
      assert.deepEqual(told(argv), expected);
    });

  test("a time in a variable counts where its value is certain", () => {
    const env = { PRESTOP_SLEEP: "20", EMPTY: "", TWO: "1 2" };
    assert.equal(told(sh("sleep $PRESTOP_SLEEP"), env), 20);
    assert.equal(told(sh('sleep "${PRESTOP_SLEEP:-15}s"'), env), 20);
    assert.equal(told(sh("sleep ${EMPTY:-15}"), env), 15);
    for (const script of [
      "sleep $NEVER",
      "sleep ${NEVER:-15}",
      "sleep $TWO",
      "sleep $(PRESTOP_SLEEP)",
      "sleep ${EMPTY-15}",
    ])
      assert.equal(told(sh(script), env), undefined, script);
  });
});

describe("a hook that does more than sleep, or something else", () => {
  const others: (readonly string[])[] = [
    [],
    ["sleep"],
    ["sleep", "infinity"],
    ["sleep", "-1"],
    ["sleep", "2d"],
    ["sleep", "15", "&&", "true"],
    ["sleep 15"],
    ["./sleep", "15"],
    ["env", "-i", "sleep", "15"],
    ["env", "A=1", "sleep", "15"],
    ["kill", "-QUIT", "1"],
    ["exec", "sleep", "15"],
    ["timeout", "20", "sleep", "15"],
    ["sh", "-c", "sleep", "15"],
    ["sh", "/hooks/stop.sh"],
    ["sh", "-nc", "sleep 15"],
    ["sh", "-s", "sleep 15"],
    ["python3", "-c", "sleep 15"],
    ["powershell", "-Command", "Start-Sleep 15"],
    ...[
      "true",
      "sleep 15 &",
      "sleep 15 & wait",
      "sleep 15 &> /dev/null",
      "sleep 5>/dev/null",
      "sleep 15 | cat",
      "(sleep 15)",
      "{ sleep 15; }",
      "sleep 15 > /tmp/stopping",
      "echo stopping > /shared/stopping; sleep 15",
      "touch /tmp/stopping; sleep 15",
      "rm -f /tmp/healthy && sleep 15",
      "curl -X POST localhost:9901/healthcheck/fail; sleep 15",
      "sleep 15; wget -qO- localhost:8080/shutdown",
      "sleep 15; exit 0; kill -QUIT 1",
      "exec sleep 15; kill -QUIT 1",
      "sleep 15 || kill -QUIT 1",
      "false && sleep 15",
      "! sleep 15",
      "if true; then sleep 15; fi",
      "for i in 1 2 3; do sleep 5; done",
      "until false; do sleep 15; done",
      "while true; do sleep 15; done",
      "trap 'rm /x' EXIT; sleep 15",
      "sleep $((10 + 5))",
      "sleep `cat /etc/time`",
      "echo $(rm -rf /data); sleep 15",
      "echo $(date -s 12:00); sleep 15",
      "printf -v PATH x; sleep 15",
      "set -n; sleep 15",
      "sleep 15\r",
      "sleep 15;; exit",
      "; sleep 15",
      "sleep 15 &&",
      "sleep '15",
      "SLEEP=15; sleep $SLEEP",
      "T=1 sleep 15",
      "kill -QUIT 1; sleep 15",
      "nginx -s quit; sleep 15",
      "sleep 0; kill -QUIT 1",
      "sleep 15; kill -QUIT 1; kill -TERM 1",
      "sleep 15; kill -QUIT 1 7",
      "sleep 15; kill -QUIT 7",
      "sleep 15; kill '-s QUIT' 1",
      "sleep 15; pkill nginx",
      "sleep 15; pkill -HUP nginx",
      "sleep 15; pkill -QUIT java",
      "sleep 15; pkill -QUIT 1",
      "sleep 15; kill -QUIT nginx",
      "sleep 15; ./kill -QUIT 1",
      "sleep 15; kill -TERM $(pidof nginx)",
      "sleep 15; kill -QUIT $(cat /run/app.pid)",
      "sleep 15; kill -QUIT $(pgrep -f nginx)",
      "sleep $(cat /run/nginx.pid)",
      "sleep 15; wait 7",
      "sleep 15; nginx -s stop",
      "sleep 15; nginx -s quit -g 'pid /x;'",
      "sleep 15; nginx -s quit; while pgrep -x nginx; do touch /x; done",
      "while pgrep -x nginx; do sleep 1; done; sleep 15",
      `sleep 15;${" ".repeat(5_000)}`,
    ].map(sh),
    ["bash", "-uc", "echo $A; sleep 15"],
  ];
  for (const argv of others)
    test(`a hook is more than a sleep, and it is said why: ${JSON.stringify(argv).slice(0, 90)}`, () => {
      const found = onlySleep(argv);
      assert.ok("because" in found && found.because !== "", JSON.stringify(found));
    });
});

const oneOf = (texts: string): fc.Arbitrary<string> => fc.constantFrom(...texts.split("|"));
/** Words and operators as people write them in hooks, and traps. */
const part = fc.oneof(
  { weight: 4, arbitrary: oneOf("sleep 15|sleep 5|sleep 0.5|sleep 1 2|echo a|echo 'b c'|true|:|set -e") },
  {
    weight: 1,
    arbitrary: oneOf('kill -QUIT 1|kill 1|pkill -QUIT nginx|nginx -s quit|exit 0|# c|echo "$HOME"'),
  },
  {
    weight: 1,
    arbitrary: oneOf(
      "touch x|rm y|false|sleep|sleep x|while pgrep -x nginx|do sleep 1|done|{|}|(|)|if|then|fi|!|exec|eval|wait|x=1|echo $(touch z)|cat",
    ),
  },
);
const joint = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("; ", " && ", "\n", " 2>&1\n", " || ", ";") },
  { weight: 1, arbitrary: fc.constantFrom(" & ", " | ", " ", " > f ", "\\\n") },
);
const composed = fc
  .array(fc.tuple(part, joint), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.flat().join(""));
/** A character more, less or other. */
const damaged = fc
  .tuple(
    composed,
    fc.nat(),
    fc.constantFrom("", "$", "`", '"', "'", "\\", "(", "&", "|", ">", "5", "#", "\r"),
  )
  .map(([script, at, char]) => {
    const place = at % (script.length + 1);
    return script.slice(0, place) + char + script.slice(place + (at % 2));
  });

/**
 * What a shell does with scripts: each program that it calls, one a line. Programs are functions, and no other program is there;
 * a sleep takes no time.
 */
function doneBy(shell: string, scripts: readonly string[]): string[][] {
  const folder = mkdtempSync(join(tmpdir(), "only-sleep-"));
  try {
    const names = ["sleep", "kill", "pkill", "nginx", "touch", "rm", "cat"];
    const functions = names.map((name) => `${name}() { echo "${name} $*" >&9; }`).join("\n");
    // In place of the loop's end: once nginx has gone, pgrep fails.
    const prelude = `${functions}\npgrep() { return 1; }\n`;
    const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
    const all = scripts.map(
      (script, index) =>
        `( cd ${folder}; eval ${quoted(script)} ) 9>&1 >/dev/null 2>&1 </dev/null\necho "= ${index}"`,
    );
    const output = execFileSync(shell, ["-s"], {
      input: `${prelude}${all.join("\n")}\nexit 0\n`,
      cwd: folder,
      env: { PATH: folder, HOME: "/" },
      encoding: "utf8",
    });
    return output
      .split(/^= \d+\n/m)
      .slice(0, scripts.length)
      .map((one) => one.split("\n").filter((line) => line !== ""));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("what is taken for a sleep does nothing else in a shell", () => {
  const accepted = (from: fc.Arbitrary<string>, seed: number): string[] => [
    ...new Set(
      fc
        .sample(from, { numRuns: 10_000, seed })
        .filter((script) => "seconds" in onlySleep(sh(script)) && !/\bexec\b/.test(script)),
    ),
  ];
  for (const [name, from] of [
    ["composed", composed],
    ["damaged", damaged],
  ] as const)
    test(`scripts that only sleep call nothing but sleep, as long, and one signal: ${name}`, () => {
      const scripts = accepted(from, 39).slice(0, 600);
      assert.ok(scripts.length > 100, `${scripts.length} scripts`);
      for (const [index, calls] of doneBy("/bin/sh", scripts).entries()) {
        const script = scripts[index] ?? "";
        const stop = calls.findIndex((one) => !one.startsWith("sleep "));
        const before = (stop === -1 ? calls : calls.slice(0, stop)).flatMap((one) => one.split(" ").slice(1));
        const seconds = Math.ceil(before.reduce((sum, word) => sum + Number(word), 0));
        const expected = told(sh(script));
        const signals = calls.filter((one) => !one.startsWith("sleep "));
        assert.deepEqual(Array.isArray(expected) ? expected[0] : expected, seconds, JSON.stringify(script));
        assert.equal(signals.length, Array.isArray(expected) ? 1 : 0, JSON.stringify({ script, calls }));
      }
    });

  test("any words have an answer, in one line", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 4 }), fc.string(), (words, script) => {
        for (const argv of [words, sh(script), ["sh", "-c", ...words]]) {
          const found = onlySleep(argv);
          if ("because" in found) assert.doesNotMatch(found.because.slice(0, 20), /\n/);
        }
      }),
    );
  });
});
