import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { isHere } from "../src/audit/prove/here.ts";
import { pictureOf } from "../src/audit/prove/report.ts";
import { program, runAlone, runProgram, start, withoutNamespaces } from "./running.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-prove-"));
after(() => rmSync(folder, { recursive: true }));

interface Shown {
  readonly skipped?: string;
  readonly notes: readonly string[];
  readonly before?: Result;
  readonly after?: Result;
  readonly verdicts: readonly { readonly rule: string; readonly verdict: string; readonly because: string }[];
}

interface Result {
  readonly terminations: number;
  readonly sent: number;
  readonly lost: number;
  readonly killed: number;
}

interface Parts {
  readonly kind?: string;
  readonly grace?: number;
  readonly drain?: string;
  readonly container?: string;
}

function manifest(
  name: string,
  { kind = "Deployment", grace = 10, drain = "1s", container = "" }: Parts = {},
): string {
  return `apiVersion: apps/v1
kind: ${kind}
metadata: { name: ${name} }
spec:
  replicas: 2
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} }, annotations: { lameduck.dev/drain: ${drain}, lameduck.dev/convergence: 3s } }
    spec:
      terminationGracePeriodSeconds: ${grace}
      containers:
        - name: web
          image: registry.example/web:1
          ports: [{ containerPort: 8080 }]
          readinessProbe: { httpGet: { path: /ready, port: 8080 }, periodSeconds: 1 }
${container.replaceAll(/^/gm, "          ")}
`;
}

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function proven(
  ...args: string[]
): Promise<{ readonly code: number | null; readonly proofs: readonly Shown[] }> {
  const { code, out, err } = await runAlone(["audit", ...args, "--prove", "--format", "json"], {
    cwd: folder,
  });
  try {
    return { code, proofs: (JSON.parse(out) as { proofs: Shown[] }).proofs };
  } catch {
    throw new Error(`${out}${err}`);
  }
}

function verdict({ verdicts }: Shown, rule: string): string | undefined {
  return verdicts.find((one) => one.rule === rule)?.verdict;
}

const skip = await withoutNamespaces();

// Each has namespaces of its own and little load.
describe("audit --prove", { concurrency: 2 }, () => {
  test("a pod without a hold: requests are lost, and none with the fix", { skip }, async () => {
    const { code, proofs } = await proven(file("web.yaml", manifest("web")));
    assert.equal(code, 1);
    const [proof] = proofs;
    assert.ok(proof?.before && proof.after);
    assert.equal(proof.before.terminations, 2);
    assert.ok(proof.before.lost > 0);
    assert.equal(proof.after.lost, 0);
    assert.equal(verdict(proof, "no-lame-duck"), "confirmed");
    assert.match(proof.notes.join("\n"), /a stand-in for what registry\.example\/web:1 runs, on port 8080/);
  });

  test("a shell as PID 1, from stdin, as text: the pods meet SIGKILL", { skip }, async () => {
    const path = file(
      "shell.yaml",
      manifest("shell", {
        grace: 4,
        container: 'command: [sh, -c, "serve | tee log"]\nlifecycle: { preStop: { sleep: { seconds: 3 } } }',
      }),
    );
    const { code, out } = await runProgram("sh", [
      "-c",
      `cat "$2" | "$0" "$1" audit - --prove`,
      process.execPath,
      program,
      path,
    ]);
    assert.equal(code, 1);
    assert.match(out, /^proof: Deployment shell$/m);
    assert.match(out, /behind a shell that keeps SIGTERM to itself/);
    assert.match(out, /confirmed +shell-swallows-term: .*2 of 2 pods killed by SIGKILL/);
  });

  test("a grace period that is too short for the longest request", { skip }, async () => {
    const { proofs } = await proven(
      file(
        "long.yaml",
        manifest("long", {
          kind: "StatefulSet",
          grace: 4,
          drain: "3s",
          container: "lifecycle: { preStop: { sleep: { seconds: 3 } } }",
        }),
      ),
    );
    const [proof] = proofs;
    assert.ok(proof?.before && proof.after);
    assert.equal(verdict(proof, "grace-too-short"), "confirmed", JSON.stringify(proof));
    assert.equal(proof.after.killed, 0);
  });

  test(
    "a program of this machine is run itself; one that does not come up gives way to a stand-in",
    { skip },
    async () => {
      file(
        "here.js",
        'require("http").createServer((q, r) => r.end()).listen(8080); process.on("SIGTERM", () => process.exit());',
      );
      file("broken.js", "process.exit(1)");
      const container = (name: string): string => `command: [${process.execPath}, ${name}]`;
      const { proofs } = await proven(
        file(
          "here.yaml",
          `${manifest("here", { container: container("here.js") })}---\n${manifest("broken", { container: container("broken.js") })}`,
        ),
      );
      const [here, broken] = proofs;
      assert.ok(here && broken);
      assert.match(here.notes[0] ?? "", /here\.js, as this machine has it/);
      assert.equal(verdict(here, "no-lame-duck"), "confirmed");
      assert.match(broken.notes.join("\n"), /did not start here[^]*a stand-in for/);
      assert.equal(verdict(broken, "no-lame-duck"), "confirmed");
    },
  );

  test("what cannot be rolled is not tried, which is no pass", { skip }, async () => {
    const { proofs } = await proven(
      file(
        "bad.yaml",
        manifest("bad", {
          container:
            "volumeMounts: [{ name: x, mountPath: / }]\nlivenessProbe: { httpGet: { path: /, port: nowhere } }",
        }),
      ),
    );
    const [proof] = proofs;
    assert.ok(proof);
    assert.match(proof.skipped ?? "", /no container port is called "nowhere"/);
    assert.ok(proof.verdicts.every((one) => one.verdict === "not tried"));
    const { proofs: long } = await proven(file("hours.yaml", manifest("hours", { grace: 7_200 })));
    assert.match(long[0]?.skipped ?? "", /grace period of 7200 s is longer/);
  });

  test(
    "Ctrl-C: the report is kept, the exit code says so, and nothing is said to have been proved",
    { skip },
    async () => {
      const path = file("slow.yaml", manifest("slow"));
      const running = start(["audit", path, "--prove"]);
      await running.said(/rolling/);
      running.child.kill("SIGINT");
      const { code, out } = await running.ended;
      assert.equal(code, 130);
      assert.match(out, /no-lame-duck/);
      assert.doesNotMatch(out, /^proof/m);
    },
  );

  for (const [args, problem] of [
    [["x.yaml", "--prove", "--fix"], /--prove: goes without --fix/],
    [["--prove", "--cluster"], /--prove: rolls manifests/],
    [["x.yaml", "--prove", "--format", "sarif"], /--prove: shows its proofs as text/],
  ] as const)
    test(`${args.join(" ")} is refused`, async () => {
      const { code, err } = await runAlone(["audit", ...args]);
      assert.equal(code, 2);
      assert.match(err, problem);
    });
});

test("whether a command line can run here", () => {
  file("package.json", '{ "scripts": { "start": "node here.js" } }');
  file("there.js", "");
  const cases: [boolean, string[]][] = [
    [true, ["node", "there.js"]],
    [false, ["node", "missing.js"]],
    [true, ["node", "./there.js", "--port=8080"]],
    [false, ["no-such-program-anywhere"]],
    [true, ["sh", "-c", "cd . && exec node there.js"]],
    [false, ["sh", "-c", "sleep 1; node missing.js"]],
    [false, ["sh", "-c", "no-such-program | tee log"]],
    [true, ["npm", "start"]],
    [false, ["npm", "run", "serve"]],
    [false, []],
  ];
  for (const [expected, argv] of cases) assert.equal(isHere(argv, folder), expected, argv.join(" "));
});

test("the picture has both chains to one scale, and none where nothing was measured", () => {
  const all = (max: number, count = 3) => ({ count, p50: max, p90: max, max });
  const lines = pictureOf([
    ["as it is", { hold: all(0), oracle: all(8_000) }],
    ["fixed", { hold: all(10_000), oracle: all(5_000) }],
  ]);
  const bars = lines.map((line) => /\|([=-]*) /.exec(line)?.[1]?.length);
  assert.deepEqual(bars, [undefined, 0, 32, 40, 20]);
  assert.deepEqual(pictureOf([["as it is", { hold: all(0, 0), oracle: all(0, 0) }]]), []);
});
