import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pidOneOf } from "../src/facts/pid-one.ts";
import { plainCommand, timeTaken } from "../src/model/shell.ts";

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
  ];
  for (const [script, least, serving] of scripts)
    test(script, () => {
      const taken = timeTaken(["sh", "-c", script]);
      assert.deepEqual([taken.least, taken.serving], [least, serving]);
    });

  test("a command that fails at once takes no time", () => {
    assert.deepEqual(timeTaken(["sleep 15"]), { least: 0, isExact: true, serving: 0 });
    assert.deepEqual(timeTaken(["sh", "-c", "sleep", "15"]), { least: 0, isExact: true, serving: 0 });
  });
});

describe("scripts that are one plain command", () => {
  for (const [script, words] of [
    ["node server.js", ["node", "server.js"]],
    ["node server.js\n", ["node", "server.js"]],
    [`node "a b.js" --x='1 2'`, undefined],
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
    test(JSON.stringify(script), () => assert.deepEqual(plainCommand(script), words));
});

describe("what stands between SIGTERM and the server", () => {
  for (const [argv, what] of [
    [["node", "a"], undefined],
    [["sh", "-c", "exec node a"], undefined],
    [["env", "A=b", "node", "a"], undefined],
    [["tini", "-g", "--", "sh", "-c", "node a"], undefined],
    [["sh", "-c", "exec npm start"], "npm"],
    [["sh", "-c", "exec /start.sh"], "start.sh"],
    [["sh", "-c", "exec sh -c 'node a'"], "sh -c"],
    [["env", "npm", "start"], "npm"],
    [["/usr/bin/env", "bash", "-c", "node a | tee log"], "bash -c"],
    [["tini", "--", "npm", "start"], "npm"],
  ] as const)
    test(argv.join(" "), () => assert.equal(pidOneOf({ argv })?.what, what));
});
