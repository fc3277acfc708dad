import assert from "node:assert/strict";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { isHere } from "../src/audit/prove/here.ts";
import { pictureOf } from "../src/audit/prove/report.ts";
import { compiledServer, serverImage } from "./image-archive.ts";
import { program, runAlone, runProgram, withoutNamespaces } from "./running.ts";

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
  readonly port?: number;
}

function manifest(
  name: string,
  { kind = "Deployment", grace = 10, drain = "1s", container = "", port = 8_080 }: Parts = {},
): string {
  return `apiVersion: v1
kind: ConfigMap
metadata: { name: settings }
data: { greeting: hello }
---
apiVersion: apps/v1
kind: ${kind}
metadata: { name: ${name} }
spec:
  replicas: 2
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} }, annotations: { lameduck.dev/drain: ${drain}, lameduck.dev/convergence: 3s } }
    spec:
      terminationGracePeriodSeconds: ${grace}
      volumes: [{ name: cache, emptyDir: {} }, { name: settings, configMap: { name: settings } }, { name: secret, secret: { secretName: x } }]
      containers:
        - name: web
          image: registry.example/web:1
          ports: [{ containerPort: ${port} }]
          readinessProbe: { httpGet: { path: /ready, port: ${port} }, periodSeconds: 1 }
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
  const { code, out, err } = await runAlone(["audit", ...args, "--prove", "--json", "-"], {
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

/** Serves on port 8080, and does at SIGTERM what it is told. */
function server(name: string, atTerm: string): string {
  file(
    name,
    `require("http").createServer((q, r) => r.end("hello")).listen(8080); process.on("SIGTERM", () => ${atTerm});`,
  );
  return `command: [${process.execPath}, ${name}]`;
}

const abrupt = server("abrupt.js", "process.exit()");

const compiled = compiledServer(folder);

// Each has namespaces of its own and little load.
describe("audit --prove", { concurrency: 2 }, () => {
  test("audit --prove loses requests of a pod without a hold, and none with the fix", { skip }, async () => {
    const { code, proofs } = await proven(file("web.yaml", manifest("web", { container: abrupt })));
    assert.equal(code, 1);
    const [proof] = proofs;
    assert.ok(proof?.before && proof.after, JSON.stringify(proof));
    assert.equal(proof.before.terminations, 2);
    assert.ok(proof.before.lost > 0);
    assert.ok(proof.after.lost < proof.before.lost);
    assert.equal(verdict(proof, "no-lame-duck"), "confirmed");
    assert.match(proof.notes.join("\n"), /container web runs .*abrupt\.js, as this machine has it/);
  });

  test(
    "audit --prove runs the pod's own image; its configuration answers what the audit asked",
    { skip: skip || (compiled === undefined && "needs a C compiler") },
    async () => {
      const archive = join(folder, "web.tar");
      writeFileSync(archive, serverImage(readFileSync(compiled!)));
      const path = file(
        "image.yaml",
        manifest("image", {
          port: 80,
          container: `env: [{ name: OF_BOTH, value: manifest }, { name: EXPECTED_USER, value: "101" }]
securityContext: { readOnlyRootFilesystem: true }
volumeMounts: [{ name: cache, mountPath: /cache }, { name: settings, mountPath: /cache/settings }, { name: secret, mountPath: /secret }]
livenessProbe: { exec: { command: [/web, probe] } }`,
        }),
      );
      const env = { ...process.env, XDG_CACHE_HOME: folder };
      const args = ["audit", path, "--prove", "--json", "-"];
      const { out, err } = await runAlone([...args, "--image", `registry.example/web:1=${archive}`], { env });
      const [proof] = (JSON.parse(out) as { proofs: Shown[] }).proofs;
      assert.ok(proof?.before, out + err);
      assert.match(
        proof.notes.join("\n"),
        /container web runs the image registry\.example\/web:1, from .*web\.tar/,
      );
      assert.deepEqual([proof.before.terminations, proof.before.killed], [2, 0]);
      assert.equal(verdict(proof, "no-lame-duck"), "confirmed");
      assert.deepEqual(globSync("lameduck/images/*/used-*", { cwd: folder }), []);
    },
  );

  test(
    "audit --prove tells, of a manifest from stdin, that pods with a shell as PID 1 meet SIGKILL",
    { skip },
    async () => {
      const path = file(
        "shell.yaml",
        manifest("shell", {
          grace: 4,
          container: `command: [sh, -c, "${process.execPath} abrupt.js | tee log"]\nlifecycle: { preStop: { sleep: { seconds: 3 } } }`,
        }),
      );
      const { code, out } = await runProgram(
        "sh",
        ["-c", `cat "$2" | "$0" "$1" audit - --prove`, process.execPath, program, path],
        { cwd: folder },
      );
      assert.equal(code, 1);
      assert.match(out, /^proof: Deployment shell$/m);
      assert.match(out, /confirmed +shell-swallows-term: .*2 of 2 pods killed by SIGKILL/);
    },
  );

  test(
    "audit --prove sees a program killed where the grace period is too short for it",
    { skip },
    async () => {
      const { proofs } = await proven(
        file(
          "long.yaml",
          manifest("long", {
            kind: "StatefulSet",
            grace: 4,
            drain: "3s",
            container: `${server("slow.js", "setTimeout(process.exit, 3000)")}\nlifecycle: { preStop: { sleep: { seconds: 3 } } }`,
          }),
        ),
      );
      const [proof] = proofs;
      assert.ok(proof?.before && proof.after, JSON.stringify(proof));
      assert.equal(verdict(proof, "grace-too-short"), "confirmed", JSON.stringify(proof));
      assert.equal(proof.after.killed, 0);
    },
  );

  test(
    "audit --prove proves nothing of an image that is not here and of a program that does not start, and says what it needs",
    { skip },
    async () => {
      file("broken.js", "process.exit(1)");
      const broken = manifest("broken", { container: `command: [${process.execPath}, broken.js]` });
      const { proofs } = await proven(file("here.yaml", `${manifest("gone")}---\n${broken}`));
      const [gone, ended] = proofs;
      assert.match(
        gone?.skipped ?? "",
        /container web: the image registry\.example\/web:1 is not on this machine; pull it, or give --image registry\.example\/web:1=FILE/,
      );
      assert.match(ended?.skipped ?? "", /it ends again and again/);
      for (const proof of [gone, ended]) assert.equal(proof && verdict(proof, "no-lame-duck"), "not proved");
    },
  );

  test("audit --prove does not try what cannot be rolled, which is no pass", { skip }, async () => {
    const { proofs } = await proven(
      file(
        "bad.yaml",
        manifest("bad", {
          container: `${abrupt}\nlivenessProbe: { httpGet: { path: /, port: nowhere } }`,
        }),
      ),
    );
    const [proof] = proofs;
    assert.ok(proof);
    assert.match(proof.skipped ?? "", /no container port is called "nowhere"/);
    assert.ok(proof.verdicts.every((one) => one.verdict === "not tried" || one.verdict === "not proved"));
    const { proofs: long } = await proven(file("hours.yaml", manifest("hours", { grace: 7_200 })));
    assert.match(long[0]?.skipped ?? "", /grace period of 7200 s is longer/);
  });

  for (const [args, problem] of [
    [["x.yaml", "--prove", "--fix"], /--prove: goes without --fix/],
    [["--prove", "-A"], /--prove: rolls manifests/],
    [["x.yaml", "--prove", "--out", "sarif=-"], /--prove: shows its proofs as text/],
  ] as const)
    test(`${args.join(" ")} is refused`, async () => {
      const { code, err } = await runAlone(["audit", ...args]);
      assert.equal(code, 2);
      assert.match(err, problem);
    });
});

test("a command line can run here where its program and its files are", () => {
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
