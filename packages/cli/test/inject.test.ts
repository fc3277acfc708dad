import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { run, runProgram, program } from "./running.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-inject-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const deployment = (annotations = ""): string => `# the shop
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  template:
    metadata:
      labels: { app: web }
${annotations}    spec:
      terminationGracePeriodSeconds: 20 # short
      containers:
        - name: web # the app
          image: registry.example/web:1
          ports: [{ containerPort: 8080 }]
`;

const annotated = (line: string): string => deployment(`      annotations:\n        ${line}\n`);

const service = `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
`;

describe("lameduck inject", () => {
  it("lameduck inject prints the manifests with the drain in them, and why on stderr", async () => {
    const path = file("plain.yaml", `${deployment()}---\n${service}`);
    const { code, out, err } = await run(["inject", path]);
    assert.equal(code, 0, err);
    assert.match(out, /^# the shop\n/);
    assert.match(out, /terminationGracePeriodSeconds: 45 # short/);
    assert.match(out, /command: \[\/lameduck\/lameduck-init, wait, --grace, "45s"/);
    assert.match(out, /- name: web # the app\n/);
    assert.match(
      err,
      /^Deployment web: injected\n {2}held-by-hook +web: 25 s at most; Service web leads to its pod\n/,
    );
    assert.match(err, /grace-raised +from 20 to 45 s/);
    const again = file("again.yaml", out);
    const { out: same } = await run(["inject", again]);
    assert.equal(same, out, "a second time changes nothing");
  });

  it("lameduck inject of a folder prints what a cluster takes, and leaves package.json out", async () => {
    mkdirSync(join(folder, "mixed"));
    file("mixed/package.json", '{ "private": true }\n');
    file("mixed/service.yaml", service);
    file("mixed/values.yaml", "replicas: 3\n");
    file("mixed/web.yaml", deployment());
    const { code, out, err } = await run(["inject", join(folder, "mixed")]);
    assert.equal(code, 0, err);
    assert.match(out, /^apiVersion: v1\nkind: Service\n/);
    assert.match(out, /kind: Deployment/);
    assert.doesNotMatch(out, /private|replicas/);
  });

  it("lameduck inject --replace-sleep puts holds in place of sleeps, and --remove gives them back", async () => {
    const text = `${deployment()}          lifecycle: { preStop: { exec: { command: [sh, -c, "sleep 15; exit 0"] } } } # long\n`;
    const path = file("sleeps.yaml", text);
    const kept = await run(["inject", path]);
    assert.equal(kept.out, text);
    assert.match(
      kept.err,
      /hook-kept +web: its preStop hook only sleeps, 15 s; existingSleep: replace would/,
    );
    const { code, out, err } = await run(["inject", path, "--replace-sleep"]);
    assert.equal(code, 0, err);
    assert.match(err, /sleep-replaced +web: 25 s at most, in place of its sleep of 15 s/);
    assert.match(out, /lifecycle: \{ preStop: \{ exec: .*lameduck-init.* # long\n/);
    assert.match(out, /lameduck\.dev\/former-sleep: "15s"/);
    const back = await run(["inject", "--remove", file("replaced.yaml", out)]);
    assert.equal(back.out, text);
    const both = await run(["inject", "--remove", "--replace-sleep", path]);
    assert.equal(both.code, 2);
    const own = file(
      "own.yaml",
      text.replace("labels:", "annotations: { lameduck.dev/existing-sleep: keep }\n      labels:"),
    );
    assert.doesNotMatch((await run(["inject", own, "--replace-sleep"])).out, /lameduck-init/);
  });

  it("names the ConfigMap that hooks need once, and where; where nothing is added, nothing", async () => {
    const elsewhere = deployment().replace("{ name: web }", "{ name: web, namespace: shop }");
    const text = [deployment(), elsewhere, elsewhere].join("---\n");
    const { out, err } = await run(["inject", file("needing.yaml", text)]);
    const note =
      /note: hooks end at once where ConfigMap lameduck-init is missing, in namespaces default, shop: docs/g;
    assert.equal(err.match(note)?.length, 1, err);
    const again = await run(["inject", file("carried.yaml", out)]);
    assert.doesNotMatch(again.err, /ConfigMap|warning/);
  });

  it("lameduck inject reads stdin, and what stands in several files", async () => {
    const lone = file("lone.yaml", deployment());
    const piped = await runProgram("sh", [
      "-c",
      `"$0" "$1" inject - < "$2"`,
      process.execPath,
      program,
      lone,
    ]);
    assert.equal(piped.code, 0, piped.err);
    assert.match(piped.out, /lameduck-init, wait/);
    const { out } = await run(["inject", file("service.yaml", service), lone]);
    assert.equal(out.match(/^---$/gm)?.length, 1);
  });

  it("lameduck inject takes out with --remove what it has put in, byte for byte", async () => {
    const path = file("undone.yaml", deployment());
    await run(["inject", path, "--write"]);
    const { code, err, out } = await run(["inject", path, "--remove", "--write"]);
    assert.deepEqual([code, out, err], [0, "", "Deployment web: as it was before\n"]);
    assert.equal(readFileSync(path, "utf8"), deployment());
    assert.equal((await run(["inject", path, "--remove"])).err, "Deployment web: not injected\n");
  });

  it("lameduck inject ends with 5 where there was nothing to inject, and says how to render it", async () => {
    const patch = deployment().replace("          image: registry.example/web:1\n", "");
    const { code, err, out } = await run(["inject", file("patch.yaml", patch)]);
    assert.deepEqual([code, out], [5, patch]);
    assert.match(
      err,
      /^no workloads were found\n.*render it: kubectl kustomize FOLDER \| lameduck inject -\n$/s,
    );
  });

  it("lameduck inject shows a diff, and writes it where it is told to", async () => {
    const path = file("written.yaml", deployment());
    const { out } = await run(["inject", path, "--diff"]);
    assert.match(out, /^\+ +lifecycle:/m);
    assert.match(out, /^-      terminationGracePeriodSeconds: 20 # short/m);
    assert.equal(readFileSync(path, "utf8"), deployment(), "it changes nothing");
    assert.equal((await run(["inject", path, "--write"])).out, "");
    assert.match(readFileSync(path, "utf8"), /terminationGracePeriodSeconds: 45 # short/);
    assert.equal((await run(["inject", path, "--diff"])).out, "");
  });

  it("lameduck inject says in JSON what was done and why", async () => {
    const { out, err } = await run([
      "inject",
      file("json.yaml", deployment()),
      "--json",
      "-",
      "--kubernetes",
      "1.29",
    ]);
    assert.equal(err, "");
    const { version, changed, workloads } = JSON.parse(out) as {
      version: number;
      changed: string[];
      workloads: { name: string; isInjected: boolean; reasons: { code: string }[] }[];
    };
    assert.equal(version, 1);
    assert.equal(changed.length, 1);
    assert.deepEqual(
      workloads.map(({ name, isInjected, reasons }) => [name, isInjected, reasons[0]?.code]),
      [["Deployment web", true, "held-by-hook"]],
    );
  });

  it("lameduck inject says in JSON which ConfigMaps the namespaces still need", async () => {
    const { out } = await run(["inject", file("needed.yaml", deployment()), "--json", "-"]);
    const { initVolumes } = JSON.parse(out) as { initVolumes: { name: string; namespace: string }[] };
    assert.equal(initVolumes.length, 1, out);
    assert.match(initVolumes[0]?.name ?? "", /^lameduck-/);
  });

  it("lameduck inject follows policies: of the namespace in the stream, and of the file for the cluster", async () => {
    const policy = (spec: string): string =>
      `apiVersion: lameduck.dev/v1alpha1\nkind: DrainPolicy\nmetadata: { name: default }\nspec: ${spec}\n`;
    const own = file("own.yaml", `${policy("{ capSeconds: 40 }")}---\n${deployment()}`);
    const cluster = file("cluster.yaml", policy("{ capSeconds: 50, reserveSeconds: 9 }"));
    const { out, err } = await run(["inject", own, "--policy", cluster]);
    assert.match(out, /--cap, "40s"/, err);
    assert.match(out, /terminationGracePeriodSeconds: 49 /);
  });

  it("lameduck inject mends what the audit finds in holds, grace periods, signals and sidecars", async () => {
    const haproxy = deployment().replace("registry.example/web:1", "registry.example/haproxy:3");
    const before = file(
      "before.yaml",
      `${haproxy}        - { name: istio-proxy, image: proxyv2 }\n---\n${service}`,
    );
    const found = async (path: string): Promise<string[]> => {
      const { out } = await run(["audit", path, "--json", "-"]);
      const { findings } = JSON.parse(out) as { findings: { rule: string }[] };
      return findings.map(({ rule }) => rule).sort();
    };
    const expected = ["grace-too-short", "no-lame-duck", "no-readiness-probe", "term-not-graceful"];
    assert.deepEqual(await found(before), expected);
    const { out } = await run(["inject", before]);
    assert.deepEqual(await found(file("mended.yaml", out)), ["no-readiness-probe"]);
  });

  it("lameduck inject uses the kubelet's sleep on nodes of two kinds", async () => {
    const path = file("arch.yaml", deployment());
    const { out, err } = await run(["inject", path, "--arch", "amd64", "arm64"]);
    assert.match(out, /sleep:\n +seconds: 15/);
    assert.match(err, /sleep-instead +the nodes have several processors/);
  });

  it("lameduck inject warns of an annotation that no pod will have", async () => {
    const text = deployment().replace(
      "{ name: web }",
      '{ name: web, annotations: { lameduck.dev/inject: "false" } }',
    );
    const { code, err } = await run(["inject", file("misplaced.yaml", text)]);
    assert.equal(code, 0);
    assert.match(
      err,
      /warning lameduck\.dev\/inject is read from spec\.template\.metadata\.annotations only: move it there/,
    );
  });

  const policy = "apiVersion: lameduck.dev/v1alpha1\nkind: DrainPolicy\nmetadata: { name: default }\n";
  const kept = file("kept.yaml", deployment());
  const wrong: readonly (readonly [what: string, args: readonly string[], words: RegExp])[] = [
    [
      "nothing to read",
      [],
      /LAMEDUCK_BAD_OPTION.*lameduck inject --help|name files or folders.*LAMEDUCK_BAD_OPTION/,
    ],
    ["no such file", ["/nowhere.yaml"], /\/nowhere\.yaml.*LAMEDUCK_AUDIT_UNREADABLE/],
    ["a template", [file("t.yaml", "a: {{ .Values.x }}\n")], /LAMEDUCK_MANIFEST_TEMPLATE/],
    [
      "an annotation",
      [file("a.yaml", annotated('lameduck.dev/cap: "20"'))],
      /a\.yaml:10:27: lameduck\.dev\/cap: "20" is no duration.*LAMEDUCK_OPERATOR_BAD_ANNOTATION.*add the unit: 20s/,
    ],
    ["a misspelt one", [file("m.yaml", annotated("lameduck.dev/caps: 20s"))], /did you mean cap\?/],
    [
      "a policy of the stream",
      [file("p.yaml", `${policy}spec:\n  capSeconds: soon\n`)],
      /p\.yaml:5:15: spec\.capSeconds: must be a whole number.*LAMEDUCK_OPERATOR_BAD_POLICY/,
    ],
    [
      "the cluster's policy",
      [file("x.yaml", deployment()), "--policy", file("q.yaml", `${policy}spec: { initVolume: floppy }\n`)],
      /q\.yaml: spec\.initVolume: "floppy" is none of.*choose one of/,
    ],
    [
      "no policy in it",
      [file("y.yaml", deployment()), "--policy", file("n.yaml", service)],
      /n\.yaml: holds no DrainPolicy/,
    ],
    [
      "a policy that is not there",
      [file("z.yaml", deployment()), "--policy", "/nowhere"],
      /\/nowhere: .*LAMEDUCK_OPERATOR_BAD_POLICY/,
    ],
    [
      "parts that are shared",
      [file("s.yaml", deployment().replace("- name: web", "- &a\n          name: web") + "        - *a\n")],
      /LAMEDUCK_OPERATOR_CANNOT_EDIT/,
    ],
    [
      "merge keys",
      [file("k.yaml", deployment().replace("image: registry.example/web:1", "<<: { image: x }"))],
      /LAMEDUCK_OPERATOR_CANNOT_EDIT/,
    ],
    [
      "a version",
      [file("v.yaml", deployment()), "--kubernetes", "new"],
      /--kubernetes new.*LAMEDUCK_BAD_OPTION/,
    ],
    ["a processor", [file("w.yaml", deployment()), "--arch", "s390x"], /amd64, arm64/],
    ["stdin that should be written", ["-", "--write"], /--write.*LAMEDUCK_BAD_OPTION/],
    ["JSON into a folder", [kept, "--write", "--json", folder], /--json.*is a folder/],
    ["two outputs", [file("two.yaml", deployment()), "--json", "-", "--diff"], /--json.*LAMEDUCK_BAD_OPTION/],
  ];
  after(() =>
    assert.equal(readFileSync(kept, "utf8"), deployment(), "a mistake leaves the files as they were"),
  );
  for (const [what, args, words] of wrong)
    it(`lameduck inject ends with 2, one line and no output for a mistake: ${what}`, async () => {
      const { code, out, err } = await run(["inject", ...args]);
      assert.equal(code, 2, err);
      assert.equal(out, "");
      assert.match(err, words);
      assert.doesNotMatch(err, /\n +at /);
    });
});
