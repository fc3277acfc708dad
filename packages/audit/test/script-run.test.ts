import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { servedBy } from "../src/model/pid-one.ts";

/** It prints the number of its process. */
const server = "head -c 9 /proc/self/stat";

/** Scripts, with SERVER where the program stands that serves. */
const scripts = [
  "SERVER",
  "true; SERVER",
  "true && SERVER",
  "false || SERVER",
  "[ 1 = 1 ] && SERVER",
  "true\nSERVER",
  "true\nSERVER\n",
  "SERVER\n\n",
  "SERVER\n  ",
  "SERVER;",
  "SERVER # why",
  "SERVER;\n# why\n",
  "A=b SERVER",
  "SERVER 2>&1",
  "SERVER < /dev/null",
  "SERVER <<E\nx\nE\n",
  "cat <<E > /dev/null\n' ( |\nE\nSERVER",
  "true $(true '|' \"a)\"); SERVER",
  'true \'|\' "$(true "|")"; SERVER',
  "true `true`; SERVER",
  "true $((1 << 2)) ${X:-'|'}; SERVER",
  "( f() { SERVER; }; f )",
  "( f() { true | SERVER; }; f )",
  "( trap 'exit 0' TERM; SERVER )",
  "( trap 'exit 0' TERM ); exec SERVER",
  "for i in 1 2; do true; done; SERVER",
  "until true; do true; done; SERVER",
  "case a in a|b) true;; *) false ;; esac; SERVER",
  "case a in (a) SERVER;; esac",
  "if true; then SERVER; fi",
  "if false; then true; elif true; then SERVER; else true; fi",
  "if true; then true; fi; SERVER",
  "if true; then exec SERVER; fi; true",
  "( SERVER )",
  "{ SERVER; }",
  "for i in 1; do SERVER; done",
  "f() { SERVER; }; f",
  "f() { exec SERVER; }; f",
  'f() { exec "$@"; }; f SERVER',
  "trap 'exit 0' TERM; SERVER",
  "trap 'echo bye' EXIT; exec SERVER",
  "trap '' HUP; exec SERVER",
  "true; true && SERVER",
  "true\ntrue && SERVER",
  "true; true || true; SERVER",
  "true & SERVER && true & wait || true",
  "true & SERVER",
  "true & wait; SERVER",
  "true &\nSERVER",
  "SERVER & wait",
  "true | true; SERVER",
  "true | SERVER",
  "SERVER | cat",
  "exec SERVER | cat",
  "SERVER || true",
  "SERVER && true",
  "SERVER; true",
  "! SERVER",
  "cd /; SERVER",
  "set -e; export A=b; SERVER",
  "eval SERVER",
  "eval 'exec SERVER'",
  "command SERVER",
  "exec SERVER",
  "true && exec SERVER",
  "false || exec SERVER",
  "( exec SERVER )",
  "exec 2>&1; exec SERVER",
  "true \\\n && exec \\\n SERVER",
  "env A=b SERVER",
  "exec nice -n 1 env -u A stdbuf -o L SERVER",
];

const shells: readonly (readonly [string, ...string[]])[] = [["bash"], ["dash"], ["busybox", "ash"]];

const folder = mkdtempSync(join(tmpdir(), "lameduck-scripts-"));
after(() => rmSync(folder, { recursive: true }));

/** Measured with real shells: who has the number of the process that was started? */
for (const program of shells) {
  const name = program.join(" ");
  const isHere = spawnSync(program[0], [...program.slice(1), "-c", ":"]).status === 0;
  describe(
    `whether ${name} is replaced by its last command`,
    { skip: isHere ? false : `${name} is not here` },
    () => {
      const knows = ([first, ...rest]: readonly [string, ...string[]], file?: string): void => {
        const { pid, stdout } = spawnSync(first, rest, { encoding: "utf8" });
        const { argv: served, pidOne } = servedBy([first, ...rest], { scripts: () => file });
        assert.equal(
          pidOne === undefined,
          stdout.split(" ")[0] === String(pid),
          `${stdout}, ${pid}: ${pidOne?.because}`,
        );
        assert.equal(served[0], "head");
      };
      for (const script of scripts) {
        const text = script.replace("SERVER", server);
        const told = JSON.stringify(script);
        test(`the audit knows whether ${name} is replaced by its last command in ${told}`, () => {
          knows([...program, "-c", text]);
        });
        test(`the audit knows whether ${name} is replaced by its last command in a file with ${told}`, () => {
          const file = join(folder, "script");
          writeFileSync(file, text);
          knows([...program, file], text);
        });
      }
    },
  );
}

/** With SERVER where a program stands that needs a moment to stop. */
const trapping = [
  "trap 'kill $P' TERM; SERVER & P=$!; wait $P",
  "trap 'kill $P' TERM; SERVER & P=$!; wait $P; wait $P",
  "trap 'kill $P' TERM; SERVER & P=$!; wait $P; trap - TERM; wait $P",
  "trap 'kill $P; wait $P' TERM; SERVER & P=$!; wait $P",
  "trap 'kill $P; exit' TERM; SERVER & P=$!; wait $P; wait $P",
  "stop() { kill $P; wait $P; exit 0; }; trap stop TERM INT; SERVER & P=$!; wait $P",
  "trap 'kill $P' TERM; SERVER & P=$!; while kill -0 $P 2>&-; do wait $P; done",
  "trap 'kill $P' TERM; SERVER & P=$!; until ! kill -0 $P 2>&-; do sleep 0.1; done",
];
/** It tells its number, and stops some time after SIGTERM. */
const slowToStop = `'trap "sleep 0.3; exit" TERM; echo $$; while :; do sleep 0.05; done'`;

for (const program of shells) {
  const name = program.join(" ");
  const isHere = spawnSync(program[0], [...program.slice(1), "-c", ":"]).status === 0;
  describe(`whether ${name} outlives its server`, { skip: isHere ? false : `${name} is not here` }, () => {
    for (const script of trapping)
      test(`the audit knows whether ${name} outlives its server in ${JSON.stringify(script)}`, async (t) => {
        const argvOf = (server: string): string[] => [
          ...program.slice(1),
          "-c",
          script.replace("SERVER", () => server),
        ];
        const shell = spawn(program[0], argvOf(`${name} -c ${slowToStop}`), {
          stdio: ["ignore", "pipe", "ignore"],
        });
        const [told] = (await once(shell.stdout, "data")) as [Buffer];
        const server = Number(String(told));
        t.after(() => isRunning(server) && process.kill(server, "SIGKILL"));
        // It sleeps in `wait`, or for a command of its loop: its variable is set.
        while (!/\) S /.test(readFileSync(`/proc/${shell.pid}/stat`, "utf8"))) await turn();
        shell.kill("SIGTERM");
        await once(shell, "exit");
        const outlives = !isRunning(server);
        assert.equal(servedBy([program[0], ...argvOf("node a")]).pidOne === undefined, outlives);
      });
  });
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("what stands between SIGTERM and the server", () => {
  const cases: readonly (readonly [argv: readonly string[], what: string | undefined, certainty?: string])[] =
    [
      [["node", "a"], undefined],
      [["sh", "-c", "exec node a"], undefined],
      [["bash", "-c", "[[ $a =~ ^[[:space:]]+(x|y)$ && `b` ]] || c; exec node a"], undefined],
      [["sh", "-c", "--", "exec node a"], undefined],
      [["sh", "-c", "-x", "exec node a"], undefined],
      [["bash", "-euo", "pipefail", "-c", "exec node a"], undefined],
      [["bash", "-o", "pipefail", "-lc", "node a | tee log"], "bash -c", "certain"],
      [["bash", "--norc", "-c", "node a"], undefined],
      [["busybox", "sh", "-c", "node a"], undefined],
      [["busybox", "sh", "-c", "node a\n"], "busybox sh -c", "likely"],
      [["sh", "-c", 'exec "$0" "$@"', "node", "a"], undefined],
      [["sh", "-c", 'exec "$@"', "--", "npm", "start"], "npm", "likely"],
      [["sh", "-c", "exec npm start"], "npm", "likely"],
      [["sh", "-c", "exec /start.sh"], "start.sh", "unknown"],
      [["sh", "-c", "exec sh -c 'node a'"], "sh -c", "likely"],
      [["sh", "-c", "exec $CMD"], "...", "unknown"],
      [["sh", "-c", "exec ${JAVA_HOME}/bin/java -jar a"], undefined],
      [["sh", "-c", "exec $(which node) a"], undefined],
      [["sh", "-c", ". /env.sh"], "sh -c", "unknown"],
      [["sh", "-c", "node 'a"], "sh -c", "unknown"],
      [["sh", "-c", `${"eval ".repeat(5_000)}node a`], "sh -c", "likely"],
      [["sh", "-c", "A='eval $A'; eval $A"], "sh -c", "likely"],
      [["sh", "-c", `${"a && ".repeat(30_000)}node a`], "sh -c", "unknown"],
      [["sh", "-c", "CMD='npm start'; exec $CMD"], "npm", "likely"],
      [["sh", "-c", 'if [ -n "$A" ]; then exec npm start; else exec node a; fi'], "npm", "likely"],
      [["sh", "-c", '[ -n "$A" ] && exec node a; exec node b'], undefined],
      [["sh", "-c", "node a & exec tail -f log"], undefined],
      [["sh", "-c", "nginx; tail -f /var/log/nginx/access.log"], "sh -c", "likely"],
      [["sh", "-c", "trap 'nginx -s quit' TERM; nginx; sleep infinity & wait"], "sh -c", "likely"],
      [["sh", "-c", "trap 'pg_ctl stop' TERM; postgres & wait"], undefined],
      [["sh", "-c", "trap 'kill $P' TERM; node a & P=$!; tail -f log"], "sh -c", "likely"],
      [["sh", "-c", 'stop() { kill -TERM "$P"; wait; }; trap stop TERM INT; node a & P=$!; wait'], undefined],
      [["sh", "-c", "trap 'exit 0' TERM; node a & wait"], "sh -c", "likely"],
      [["sh", "-c", "trap /stop.sh TERM; node a & wait"], "sh -c", "unknown"],
      [["sh", "-c", "trap 'exit 0' TERM; node a"], "sh -c", "likely"],
      [["sh", "-c", "while true; do node a; sleep 1; done"], "sh -c", "likely"],
      [["bash", "-c", "trap 'kill $P' EXIT; node a & P=$!; wait"], "bash -c", "likely"],
      [["bash", "-c", "trap 'rm /run/a' EXIT; node a"], "bash -c", "likely"],
      [["env", "A=b", "node", "a"], undefined],
      [["env", "npm", "start"], "npm"],
      [["env", "-S", "npm start"], "npm"],
      [["/usr/bin/env", "bash", "-c", "node a | tee log"], "bash -c", "certain"],
      [["tini", "-g", "--", "sh", "-c", "node a"], undefined],
      [["tini", "-s", "--", "npm", "start"], "npm", "likely"],
      [["tini", "-sg", "npm", "start"], undefined],
      [["dumb-init", "npm", "start"], undefined],
      [["dumb-init", "-c", "npm", "start"], "npm", "likely"],
      [["gosu", "app", "npm", "start"], "npm"],
      [["su-exec", "1000:1000", "npm", "start"], "npm"],
      [["setpriv", "--reuid", "1", "--clear-groups", "npm", "start"], "npm"],
      [["nice", "-n", "5", "nohup", "npm", "start"], "npm"],
      [["chpst", "-u", "app", "npm", "start"], "npm"],
      [["doppler", "run", "--", "npm", "start"], "npm"],
      [["doppler", "run", "--", "node", "a"], undefined],
      [["sudo", "-u", "app", "node", "a"], undefined],
      [["su", "app", "-c", "node a"], "su", "likely"],
      [["bun", "run", "start"], "bun", "likely"],
      [["bun", "run", "server.ts"], undefined],
      [["corepack", "yarn", "start"], "yarn", "likely"],
      [["node", "--run", "start"], "node --run", "likely"],
      [["make", "run"], "make", "unknown"],
      [["bundle", "exec", "puma"], undefined],
    ];
  for (const [argv, what, certainty] of cases)
    test(`the process between SIGTERM and the server is ${what ?? "none"}: ${argv.join(" ")}`, () => {
      const { pidOne } = servedBy(argv);
      assert.equal(pidOne?.what, what);
      if (certainty !== undefined) assert.equal(pidOne?.certainty, certainty);
    });

  test("the name of an image says which shell its sh is", () => {
    const of = (image: string): boolean => servedBy(["sh", "-c", "node a"], { image }).pidOne === undefined;
    assert.deepEqual(
      ["node:22", "node:22-alpine", "node:22-slim", "registry.access.redhat.com/ubi9/nodejs-20"].map(of),
      [false, true, false, true],
    );
  });

  test("the entry point of an official image gives way to the program, and another one may not", () => {
    const of = (image: string) => servedBy(["docker-entrypoint.sh", "npm", "start"], { image }).pidOne?.what;
    assert.deepEqual(["node:22", "docker.io/library/node", "registry.example/node"].map(of), [
      "npm",
      "npm",
      "docker-entrypoint.sh",
    ]);
  });

  test("a shell ends at SIGTERM where the pause process is PID 1", () => {
    const { pidOne } = servedBy(["sh", "-c", "node a | tee log"], { isPidShared: true });
    assert.match(pidOne?.because ?? "", /ends at SIGTERM, and the server is killed with it/);
    assert.equal(pidOne?.behind, "the pause process");
  });
});
