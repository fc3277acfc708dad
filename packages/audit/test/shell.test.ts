import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { servedBy } from "../src/model/pid-one.ts";
import { plainCommand } from "../src/model/shell/commands.ts";
import { readScript } from "../src/model/shell/read.ts";
import { signalSent } from "../src/model/shell/signals.ts";
import { timeTaken } from "../src/model/shell/time.ts";

describe("how long a hook takes, and how long the server serves meanwhile, seconds", () => {
  const scripts: [script: string, least: number, serving: number][] = [
    ["sleep 15", 15, 15],
    ["sleep 15; nginx -s quit; sleep 5", 20, 15],
    ["nginx -s quit; sleep 15", 15, 0],
    ["/usr/sbin/nginx -s stop && sleep 15", 15, 0],
    ["kill -TERM 1; sleep 15", 15, 0],
    ["kill 1 && sleep 20", 20, 0],
    ["kill -0 1 && sleep 20", 20, 20],
    ["kill -HUP 1; sleep 20", 20, 20],
    ["pkill node; sleep 15", 15, 0],
    ["apachectl -k graceful-stop; sleep 15", 15, 0],
    ["curl -XPOST localhost:8080/actuator/shutdown; sleep 15", 15, 0],
    ["echo stopping; sleep 15", 15, 15],
    ["exit 0; sleep 15", 0, 0],
    ["false && sleep 15", 0, 0],
    ["sleep '15'", 15, 15],
    ["sleep 5 10", 15, 15],
    ["exec /bin/sleep 15", 15, 15],
    ["T=15; sleep $T", 15, 15],
    ["sleep ${DELAY:-15}", 15, 15],
    ["sleep $DELAY", 0, 0],
    ["sleep 15 &", 0, 0],
    ["sleep 15 & wait", 0, 0],
    ["sleep 5; [ -f /stop ] && sleep 10", 5, 5],
    ["sleep 5 || sleep 10", 5, 5],
    ["if [ -f /a ]; then sleep 20; else sleep 15; fi", 15, 15],
    ["sleep 5 | sleep 15", 15, 15],
    ["(sleep 15)", 15, 15],
    ["for i in 1 2 3; do sleep 5; done; kill 1; sleep 2", 17, 15],
    ["for i in $(seq 1 15); do echo $i; sleep 1; done", 15, 15],
    ["for i in {1..15}; do sleep 1; done", 0, 0],
    ["for i in $(seq 15); do nc -z a 1 || break; sleep 1; done", 0, 0],
    ["for i in *; do sleep 1; done", 0, 0],
    ["while pgrep nginx; do sleep 1; done", 0, 0],
    ["echo 'kill 1;'; sleep 15", 15, 15],
    ["curl -XPOST 'localhost:9901/healthcheck/fail'; sleep 15", 15, 15],
    ["curl -XPOST 'localhost:9901/drain_listeners?graceful&skip_exit'; sleep 15", 15, 15],
    ["curl -XPOST localhost:9901/drain_listeners; sleep 15", 15, 0],
    ["wget -qO- localhost:15020/quitquitquit; sleep 15", 15, 0],
    ["sleep 15; kill -s QUIT $(cat /run/nginx.pid); sleep 5", 20, 15],
  ];
  for (const [script, least, serving] of scripts)
    test(`a hook takes ${least} s, and the server serves for ${serving} s of them: ${script}`, () => {
      const taken = timeTaken(["sh", "-c", script]);
      assert.deepEqual([taken.least, taken.serving], [least, serving]);
    });

  test("a command that stops the server may take long, and the time before it is known", () => {
    const { isExact, isServingExact } = timeTaken(["sh", "-c", "sleep 5; curl localhost/shutdown"]);
    assert.deepEqual([isExact, isServingExact], [false, true]);
  });

  test("a command that fails at once takes no time", () => {
    const none = { least: 0, isExact: true, serving: 0, isServingExact: true };
    assert.deepEqual(timeTaken(["sleep 15"]), none);
    assert.deepEqual(timeTaken(["sh", "-c", "sleep", "15"]), none);
  });
});

describe("scripts that are one plain command", () => {
  for (const [script, words] of [
    ["node server.js", ["node", "server.js"]],
    ["node server.js\n", ["node", "server.js"]],
    [`node "a b.js" --x='1 2'`, ["node", "a b.js", "--x=1 2"]],
    [`node "a b.js"`, ["node", "a b.js"]],
    ["eval $CMD", undefined],
    [". /env.sh", undefined],
    ["source /env.sh", undefined],
    ["( node a )", undefined],
    ["! node a", undefined],
    ["cd /app", undefined],
    ["A=b node a", undefined],
    ["node a # why", undefined],
    ["node a;", undefined],
    ["node a \\\n --b", undefined],
  ] as const)
    test(`the script ${JSON.stringify(script)} is ${words ? "one plain command" : "no plain command"}`, () =>
      assert.deepEqual(plainCommand(script), words));
});

test("the signal that a command sends is known", () => {
  for (const [command, signal, isPidOne] of [
    ["kill 1", "SIGTERM", true],
    ["kill -QUIT 1", "SIGQUIT", true],
    ["/bin/kill -s SIGUSR1 12", "SIGUSR1", false],
    ["kill -3 1", "SIGQUIT", true],
    ["kill -n 2 1", "SIGINT", true],
    ["pkill -f server", "SIGTERM", false],
    ["pkill --signal=QUIT nginx", "SIGQUIT", false],
    ["killall -s WINCH httpd", "SIGWINCH", false],
    ["kill -0 1", "SIG0", true],
    ["kill -l", undefined, undefined],
    ["nginx -s quit", undefined, undefined],
  ] as const) {
    const sent = signalSent(command.split(" "));
    assert.deepEqual([sent?.signal, sent?.isPidOne], [signal, isPidOne], command);
  }
});

describe("whatever is given to a shell", () => {
  const pieces = fc.constantFrom(
    ..."a;b; & && | || ( ) { } \n \\ \\\n ' \" ` $ $( $(( ${ }} << <<- <<E E # ! if then fi else elif while do done for in case esac ;; function f() exec trap 'x' TERM wait [[ ]] (( )) =( 2>&1 > < sleep 5 kill 1 $X ${X:-5} $@ npm eval env sh -c \0 \ud83d"
      .split(" ")
      .map((one) => one.replaceAll("\\n", "\n")),
  );
  const text = fc.array(fc.oneof(pieces, fc.constant(" "), fc.string({ maxLength: 3 })), { maxLength: 40 });

  test("the time of any script is at least 0, and reading it throws no exception", () => {
    fc.assert(
      fc.property(text, (parts) => {
        const script = parts.join("");
        const taken = timeTaken(["sh", "-c", script]);
        assert.ok(taken.least >= 0 && taken.serving <= taken.least, script);
        servedBy(["bash", "-c", script]);
        plainCommand(script);
      }),
      { numRuns: 5_000 },
    );
  });

  test("a script of twice the length takes no more than a few times as long to read", () => {
    for (const part of [
      "$(",
      "`",
      "'",
      '"',
      "${x:-",
      "(",
      "{ ",
      "if a; then ",
      "a | ",
      "a && ",
      "<<E\n",
      "#",
      "\\\n",
      "1",
      "a=(",
      "f() ",
      "$((",
      "case a in a) ",
      "[[ ",
      "! ",
      "\n",
      "a\n",
      "trap 'kill 1' TERM; ",
      "f() { f; }; f; ",
    ]) {
      const time = (length: number): number => {
        const script = part.repeat(length / part.length);
        const start = process.cpuUsage();
        readScript(script);
        servedBy(["bash", "-c", script]);
        timeTaken(["bash", "-c", script]);
        const { user } = process.cpuUsage(start);
        return user / 1_000;
      };
      time(20_000);
      const [short, long] = [time(20_000), time(200_000)];
      assert.ok(
        long < 30 * Math.max(short, 10),
        `${JSON.stringify(part)}: ${short} ms, ${long} ms for ten times the length`,
      );
    }
  });
});
