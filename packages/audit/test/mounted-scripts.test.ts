import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { audit, type Workload } from "../src/index.ts";
import { options } from "./options.ts";

const script = "#!/bin/sh\n# The senders\nsleep 15\n";

interface Case {
  readonly command: readonly string[];
  readonly data?: Readonly<Record<string, string>>;
  readonly mount?: object;
  readonly volume?: object;
  readonly mounts?: readonly object[];
  readonly volumes?: readonly object[];
  readonly map?: object;
  readonly hook?: boolean;
}

function workloadWith({ command, hook = true, ...given }: Case): Workload {
  const { data = { "stop.sh": script }, mount, volume = { configMap: { name: "scripts" } } } = given;
  const container = {
    name: "web",
    image: "registry.example/web:1",
    volumeMounts: given.mounts ?? [{ name: "scripts", mountPath: "/scripts", ...mount }],
    ...(hook ? { lifecycle: { preStop: { exec: { command } } } } : { command }),
  };
  const volumes = given.volumes ?? [{ name: "scripts", ...volume }];
  const objects = [
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "scripts" }, data, ...given.map },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: { template: { spec: { containers: [container], volumes } } },
    },
  ];
  const text = objects.map((one) => JSON.stringify(one)).join("\n");
  const audited = audit([{ name: "all.json", text }], options);
  assert.deepEqual(audited.failures, []);
  const [workload] = audited.inventory.workloads;
  assert.ok(workload);
  return workload;
}

const executable = { configMap: { name: "scripts", defaultMode: 0o755 } };

describe("a hook runs a script of a ConfigMap", () => {
  const known: Record<string, Case> = {
    "by a shell": { command: ["sh", "/scripts/stop.sh"] },
    "by a shell with options": { command: ["/bin/bash", "-eu", "/scripts/stop.sh", "now"] },
    "by itself": { command: ["/scripts/stop.sh"], volume: executable },
    "by itself, through env": {
      command: ["/scripts/stop.sh"],
      volume: executable,
      data: { "stop.sh": "#!/usr/bin/env -S bash -e\nsleep 15" },
    },
    "within -c": { command: ["bash", "-c", "/scripts/stop.sh > /proc/1/fd/1 2>&1"], volume: executable },
    "within -c, with other commands": {
      command: ["sh", "-c", "echo stops; sleep 5; sh /scripts/stop.sh"],
      data: { "stop.sh": "sleep 10" },
    },
    "with an argument": {
      command: ["sh", "/scripts/stop.sh", "15"],
      data: { "stop.sh": 'sleep "${1:-30}"' },
    },
    "below a folder": { command: ["sh", "/a/b/../b/stop.sh"], mount: { mountPath: "/a/b/" } },
    "by subPath": {
      command: ["sh", "/usr/local/bin/drain"],
      mount: { mountPath: "/usr/local/bin/drain", subPath: "stop.sh" },
    },
    "by items": {
      command: ["/scripts/bin/drain"],
      volume: {
        configMap: { name: "scripts", items: [{ key: "stop.sh", path: "bin/drain", mode: 0o555 }] },
      },
    },
    "by items and a folder as subPath": {
      command: ["sh", "/scripts/drain"],
      mount: { subPath: "bin" },
      volume: { configMap: { name: "scripts", items: [{ key: "stop.sh", path: "bin/drain" }] } },
    },
    "of a projected volume": {
      command: ["sh", "/scripts/stop.sh"],
      volume: {
        projected: { sources: [{ secret: { name: "keys" } }, { configMap: { name: "scripts" } }] },
      },
    },
    "of an optional ConfigMap that is there": {
      command: ["sh", "/scripts/stop.sh"],
      volume: { configMap: { name: "scripts", optional: true } },
    },
  };
  for (const [how, one] of Object.entries(known))
    test(how, () => {
      const hook = workloadWith(one).containers[0]?.hook;
      assert.deepEqual(
        [hook?.least.value, hook?.isExact, hook?.serving.value, hook?.runsFile],
        [15, true, 15, false],
      );
    });

  const unknown: Record<string, Case> = {
    "another language": {
      command: ["sh", "/scripts/stop.sh"],
      data: { "stop.sh": "#!/usr/bin/python3\nsleep(15)" },
    },
    "a file without an interpreter": {
      command: ["/scripts/stop.sh"],
      volume: executable,
      data: { "stop.sh": "sleep 15" },
    },
    "a key that is missing": { command: ["sh", "/scripts/other.sh"] },
    "a key of binaryData": {
      command: ["sh", "/scripts/stop.sh"],
      data: {},
      map: { binaryData: { "stop.sh": Buffer.from(script).toString("base64") } },
    },
    "a ConfigMap that is missing": {
      command: ["sh", "/scripts/stop.sh"],
      volume: { configMap: { name: "other", optional: true } },
    },
    "a ConfigMap of another namespace": {
      command: ["sh", "/scripts/stop.sh"],
      map: { metadata: { name: "scripts", namespace: "other" } },
    },
    "a key that items leave out": {
      command: ["sh", "/scripts/stop.sh"],
      volume: { configMap: { name: "scripts", items: [{ key: "stop.sh", path: "drain" }] } },
    },
    "a path that is mounted over": {
      command: ["sh", "/scripts/bin/stop.sh"],
      data: { "stop.sh": script },
      mounts: [
        { name: "scripts", mountPath: "/scripts" },
        { name: "other", mountPath: "/scripts/bin" },
      ],
      volumes: [
        { name: "other", emptyDir: {} },
        { name: "scripts", configMap: { name: "scripts", items: [{ key: "stop.sh", path: "bin/stop.sh" }] } },
      ],
    },
    "a path that depends on a variable": {
      command: ["sh", "/scripts/stop.sh"],
      mount: { subPathExpr: "$(POD)" },
    },
    "a file beside the mount": { command: ["sh", "/scripts2/stop.sh"] },
    "a script that may or may not see a variable": {
      command: ["sh", "-c", "DELAY=15; /scripts/stop.sh"],
      volume: executable,
      data: { "stop.sh": "#!/bin/sh\nsleep ${DELAY:-5}" },
    },
    "scripts that run each other": {
      command: ["sh", "/scripts/stop.sh"],
      data: { "stop.sh": "sh /scripts/stop.sh; sh /scripts/stop.sh" },
    },
  };
  for (const [what, one] of Object.entries(unknown))
    test(`${what} stays unknown`, () => {
      const hook = workloadWith(one).containers[0]?.hook;
      assert.deepEqual([hook?.least.value, hook?.isExact], [0, false]);
    });

  test("a file that is not executable fails as a program", () => {
    const hook = workloadWith({ command: ["/scripts/stop.sh"] }).containers[0]?.hook;
    assert.deepEqual([hook?.least.value, hook?.isExact], [0, true]);
    assert.match(hook?.failure?.because ?? "", /may not be executed/);
  });

  test("its signals are those of the script", () => {
    const data = { "stop.sh": "sleep 5\nkill -QUIT 1\nwhile pgrep nginx; do sleep 1; done" };
    const hook = workloadWith({ command: ["sh", "/scripts/stop.sh"], data }).containers[0]?.hook;
    assert.deepEqual([hook?.serving.value, hook?.signals[0]?.signal], [5, "SIGQUIT"]);
  });
});

describe("an entry command runs a script of a ConfigMap", () => {
  const cases: Record<
    string,
    [command: string[], script: string, certainty: string | undefined, program: string]
  > = {
    "that ends with exec": [["sh", "/scripts/stop.sh"], "setup\nexec node server.js", undefined, "node"],
    "that starts its arguments": [
      ["/scripts/stop.sh", "node", "a"],
      '#!/bin/sh\nexec "$@"',
      undefined,
      "node",
    ],
    "that stays": [["sh", "/scripts/stop.sh"], "setup\nnode server.js", "likely", "node"],
    // Of -c bash would be replaced.
    "of one command, in bash": [["bash", "/scripts/stop.sh"], "node server.js", "likely", "node"],
    "behind an init": [["tini", "--", "/scripts/stop.sh"], "#!/bin/bash\nexec node a", undefined, "node"],
    "by exec of another shell": [
      ["sh", "-c", "exec /scripts/stop.sh"],
      "#!/bin/sh\nexec node a",
      undefined,
      "node",
    ],
    "that runs another file": [["sh", "/scripts/stop.sh"], "exec /app/run.sh", "unknown", ""],
  };
  for (const [how, [command, text, certainty, program]] of Object.entries(cases))
    test(how, () => {
      const one = { command, hook: false, volume: executable, data: { "stop.sh": text } };
      const served = workloadWith(one).containers[0]?.served;
      assert.deepEqual([served?.pidOne?.certainty, served?.argv[0] ?? ""], [certainty, program]);
    });

  test("it is named", () => {
    const one = { command: ["bash", "/scripts/stop.sh"], hook: false, data: { "stop.sh": "node a" } };
    assert.equal(workloadWith(one).containers[0]?.served?.pidOne?.what, "bash /scripts/stop.sh");
  });
});
