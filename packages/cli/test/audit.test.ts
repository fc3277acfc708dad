import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { dockerArchive, tarOf } from "./image-archive.ts";
import { run, runAlone, runProgram, type Ended } from "./running.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-audit-"));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

const service =
  "apiVersion: v1\nkind: Service\nmetadata: { name: web }\nspec: { selector: { app: web }, ports: [{ port: 80 }] }\n";

function deployment(pod = "", container = ""): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata: { name: web } # the shop
spec:
  template:
    metadata: { labels: { app: web } }
    spec:${pod}
      containers:
        - name: web
          image: registry.example/web:1
          readinessProbe: { tcpSocket: { port: 80 } }
          ports: [{ containerPort: 80 }]${container}
`;
}

const audit = (...args: string[]): Promise<Ended> => run(["audit", ...args], { cwd: folder });

describe("audit", () => {
  test("the audit learns an image's stop signal from the engines of this machine, or from a file, unless it is told not to", async () => {
    const held =
      "\n          lifecycle: { preStop: { sleep: { seconds: 15 } } }\n          command: [nginx, -g, daemon off;]";
    file("nginx.yaml", `${service}---\n${deployment("\n      terminationGracePeriodSeconds: 60", held)}`);
    const bin = join(folder, "bin");
    mkdirSync(bin);
    // Whatever else is on this machine is not asked.
    const answer = `[{"Id":"sha256:1","Config":{"StopSignal":"SIGQUIT"}}]`;
    for (const [engine, script] of [
      ["docker", "exit 1"],
      ["podman", `[ "$*" = "image inspect registry.example/web:1" ] && echo '${answer}'`],
      ["nerdctl", "exec sleep 600"],
    ] as const)
      writeFileSync(join(bin, engine), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const archive = join(folder, "nginx.tar");
    writeFileSync(archive, dockerArchive([tarOf({ path: "a" })], { config: { StopSignal: "SIGTERM" } }));
    const told = (...args: string[]): Promise<Ended> =>
      runAlone(["audit", "nginx.yaml", "--rule", "term-not-graceful", ...args], {
        cwd: folder,
        env: { ...process.env, PATH: `${bin}:${process.env["PATH"]}`, XDG_CACHE_HOME: folder },
      });
    const [asked, given] = await Promise.all([told(), told("--image", `registry.example/web:1=${archive}`)]);
    assert.equal(asked.code, 0, asked.out);
    assert.match(given.out, /error: at SIGTERM \(.*nginx\.tar\) nginx/);
  });

  test("a finding of the audit has the place, the sum and what to do, and the exit code is 1", async () => {
    file("web.yaml", `${service}---\n${deployment()}`);
    const { code, out, err } = await audit("web.yaml");
    assert.equal(code, 1);
    assert.match(out, /^web\.yaml:14:17: warning: there is no preStop hook.*\[no-lame-duck\]$/m);
    assert.match(out, /0 < 10 kube-proxy/);
    assert.equal(err, "");
  });

  test("an audit ends with exit code 5 where only unknown findings are left, and with 0 where --allow-unknown or a fact settles them", async () => {
    file(
      "held.yaml",
      `${service}---\n${deployment("\n      terminationGracePeriodSeconds: 60", "\n          lifecycle: { preStop: { sleep: { seconds: 15 } } }")}`,
    );
    const unknown = await audit("held.yaml");
    assert.equal(unknown.code, 5, unknown.out);
    assert.equal((await audit("held.yaml", "--allow-unknown")).code, 0);
    const answered = await audit("held.yaml", "--assume", "drain=20s");
    assert.equal(answered.code, 0, answered.out);
    assert.match(answered.out, /no findings in 1 workload/);
  });

  test("an audit that judged nothing is no pass and ends with exit code 5, and an unrendered chart is one error with the command that renders it", async () => {
    file(
      "clones.yaml",
      deployment().replace("apps/v1", "apps.kruise.io/v1").replace("Deployment", "CloneSet"),
    );
    const clones = await audit("clones.yaml");
    assert.deepEqual([clones.code, clones.err], [5, ""], clones.out);
    assert.match(clones.out, /Not judged, although they run pods: 1 CloneSet\./);
    mkdirSync(join(folder, "chart/templates"), { recursive: true });
    file("chart/Chart.yaml", "apiVersion: v2\nname: shop\n");
    for (const name of ["a", "b"])
      file(`chart/templates/${name}.yaml`, deployment().replace("web", "{{ .name }}"));
    const chart = await audit("chart");
    assert.equal(chart.code, 2);
    assert.equal(
      chart.err,
      "error chart: 2 files of this Helm chart are templates that were not rendered [LAMEDUCK_AUDIT_CHART]; render it: helm template chart | lameduck audit -\n",
    );
    mkdirSync(join(folder, "overlay"));
    file("overlay/kustomization.yaml", "resources: [../base]\n");
    assert.equal((await audit("overlay")).code, 5);
  });

  test("--min-severity hides findings, and changes no fix", async () => {
    file("hidden.yaml", `${service}---\n${deployment()}`);
    const shown = await audit("hidden.yaml", "--min-severity", "warning");
    assert.match(shown.out, /fix: preStop sleep 10, grace period/);
  });

  test("--fix --write counts no finding that --min-severity hides", async () => {
    const name = file("left.yaml", `${service}---\n${deployment()}`);
    const { code, err } = await audit(name, "--min-severity", "error", "--fix", "--write", "--allow-unknown");
    assert.equal(code, 0, err);
    assert.match(err, /^0 fixed, \d+ left$/m);
  });

  test("--fix shows a diff that git applies, --fix --write writes it, and a second run changes nothing", async () => {
    const text = `${service}---\n${deployment()}`;
    const name = file("fix.yaml", text);
    const { out, err } = await audit(name, "--fix", "--assume", "drain=20s");
    assert.match(out, /^\+ {6}terminationGracePeriodSeconds: \d+$/m);
    assert.match(err, /1 can be fixed/);
    assert.equal(readFileSync(join(folder, name), "utf8"), text, "--fix alone writes nothing");
    file("fix.patch", out);
    const applied = await runProgram("git", ["apply", "--check", "-p0", "fix.patch"], { cwd: folder });
    assert.equal(applied.code, 0, applied.err);
    assert.equal((await audit(name, "--fix", "--write", "--assume", "drain=20s")).code, 0);
    const fixed = readFileSync(join(folder, name), "utf8");
    assert.match(fixed, /# the shop/);
    await audit(name, "--fix", "--write", "--assume", "drain=20s");
    assert.equal(readFileSync(join(folder, name), "utf8"), fixed);
  });

  test("a file that the audit cannot read costs itself only, and the rest is audited", async () => {
    mkdirSync(join(folder, "all"), { recursive: true });
    file("all/a.yaml", deployment());
    file("all/b.yaml", "kind: Pod\nspec:\n\tx: 1\n");
    file("all/c.json", '{ "kind": "Pod", ');
    file("all/d.yaml", "kind: Deployment\nmetadata: { name: {{ .Values.name }} }\n");
    file("all/values.yaml", "replicas: 3\n");
    file("all/readme.md", "no manifest");
    const { code, out, err } = await audit("all", "nowhere.yaml");
    assert.equal(code, 1);
    assert.match(err, /nowhere\.yaml.*\[LAMEDUCK_AUDIT_UNREADABLE\]/);
    assert.match(err, /all\/b\.yaml:3:1.*\[LAMEDUCK_MANIFEST_NOT_YAML\]/);
    assert.match(err, /all\/c\.json.*\[LAMEDUCK_MANIFEST_NOT_YAML\]/);
    assert.match(err, /all\/d\.yaml:2:\d+.*\[LAMEDUCK_MANIFEST_TEMPLATE\].*helm template/);
    assert.match(out, /in 1 workload\. Not read: 4, see the errors\. Not looked into: 1 without a kind\./);
  });

  test("a file that is no UTF-8 is refused, because a fix would not write it back as it was", async () => {
    const text = Buffer.from(deployment().replace("web:1", "web:1 # \u00e9"), "latin1");
    writeFileSync(join(folder, "latin.yaml"), text);
    writeFileSync(join(folder, "utf16.yaml"), Buffer.from(`\ufeff${deployment()}`, "utf16le"));
    file("nul.yaml", deployment().replace("web:1", "web\0"));
    const { code, out, err } = await audit("latin.yaml", "utf16.yaml", "nul.yaml", "--fix", "--write");
    assert.deepEqual([code, out], [2, ""]);
    for (const why of [/latin\.yaml: is not UTF-8/, /utf16\.yaml: is UTF-16/, /nul\.yaml: is no text/])
      assert.match(err, why);
    assert.deepEqual(readFileSync(join(folder, "latin.yaml")), text);
  });

  test("the audit reads an empty file, and a file with a byte order mark and Windows line ends, which a fix keeps", async () => {
    file("empty.yaml", "");
    assert.match((await audit("empty.yaml")).out, /^There is no workload to audit\.\n$/);
    file("windows.yaml", `\ufeff${service}---\n${deployment()}`.replaceAll("\n", "\r\n"));
    const { code, err } = await audit("windows.yaml", "--fix", "--write", "--assume", "drain=5s");
    assert.equal(code, 0, err);
    const after = readFileSync(join(folder, "windows.yaml"), "utf8");
    assert.match(after, /^\ufeffapiVersion/);
    assert.match(after, /seconds: 10/);
    assert.doesNotMatch(after, /[^\r]\n/);
  });

  test("a terminal does not obey what stands in a manifest", async () => {
    const evil = deployment()
      .replace("name: web }", 'name: "web\\u001b[2J" }')
      .replace("registry.example/web:1", '"x\\u001b]0;title\\u0007"');
    file(
      "evil.yaml",
      `${evil}---\nkind: Pod\nmetadata: { name: "\\u001b[31m" }\nspec: { containers: "\\u001b" }\n`,
    );
    const forms = ["github", "markdown", "junit", "sarif"].map((kind) => ["--out", `${kind}=-`]);
    for (const form of [[], ["--json", "-"], ...forms]) {
      const { out, err } = await audit("evil.yaml", ...form);
      assert.match(out, /web/);
      // oxlint-disable-next-line no-control-regex
      assert.doesNotMatch(out + err, /[\u0000-\u0008\u000b-\u001f]/, form.join(" "));
    }
  });

  test("the audit follows links, and reads the file that several links lead to once", async () => {
    mkdirSync(join(folder, "links/a"), { recursive: true });
    file("links/a/web.yaml", deployment());
    for (const [to, from] of [
      [".", "links/x"],
      ["..", "links/a/up"],
      ["a/web.yaml", "links/again.yaml"],
      ["nowhere", "links/broken.yaml"],
      ["self", "links/self"],
    ] as const)
      symlinkSync(to, join(folder, from));
    const { out, err } = await audit("links", "links/a/web.yaml");
    assert.match(out, /in 1 workload\.$/m);
    assert.equal(err, "");
    mkdirSync(join(folder, "only"));
    symlinkSync("../links/a/web.yaml", join(folder, "only/web.yaml"));
    assert.match((await audit("only")).out, /in 1 workload\./);
  });

  test("two environments with objects of the same names are no conflict in the audit", async () => {
    const budget =
      "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: { name: web }\nspec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: AlwaysAllow, selector: { matchLabels: { app: web } } }\n";
    for (const name of ["dev", "prod"]) {
      mkdirSync(join(folder, "env", name), { recursive: true });
      file(
        `env/${name}/web.yaml`,
        `${service}---\n${deployment().replace("spec:", "spec:\n  replicas: 3")}${budget}`,
      );
    }
    const { out } = await audit("env", "--rule", "disruption-budget");
    assert.match(out, /^no findings in 2 workloads/m);
  });

  test("a pipe that brought the audit nothing is an error", async () => {
    const { code, err } = await run(["audit", "-"], { cwd: folder });
    assert.equal(code, 2);
    assert.match(err, /stdin: is empty \[LAMEDUCK_AUDIT_UNREADABLE\]/);
  });

  test("the audit reads the pipe of another program, and no device without an end", async () => {
    const pipe = join(folder, "pipe");
    spawnSync("mkfifo", [pipe]);
    const written = writeFile(pipe, deployment());
    const piped = await runAlone(["audit", "pipe"], { cwd: folder });
    await written;
    assert.match(piped.out, /in 1 workload/);
    const endless = await runAlone(["audit", "/dev/zero"], { cwd: folder });
    assert.equal(endless.code, 2);
    assert.match(endless.err, /\/dev\/zero: holds more than 256 MiB.* \[LAMEDUCK_AUDIT_UNREADABLE\]/);
  });

  test("a name in a manifest cannot write a line of its own into the output of the audit", async () => {
    file(
      "line.yaml",
      `kind: "Foo\\n::error file=x::injected"\n---\n${deployment().replace("name: web }", 'name: "web\\n\\nno findings in 1 workload." }')}`,
    );
    for (const form of [[], ["--out", "github=-"], ["--out", "markdown=-"]]) {
      const { out } = await audit("line.yaml", ...form);
      assert.doesNotMatch(out, /^(?:::error|no findings)/m, form.join(" "));
    }
  });

  test("fixes of the audit leave comments, anchors and empty fields alone", async () => {
    const hook = `
          lifecycle:
            preStop:
              exec:
                command: # why we sleep
                  - sleep
                  - "15"`;
    const anchored = deployment(
      "\n      terminationGracePeriodSeconds: &g 5",
      "\n          lifecycle: { preStop: { sleep: { seconds: 15 } } }\n          env: [{ name: X, value: *g }]",
    );
    for (const text of [
      deployment("", hook),
      anchored,
      deployment("\n      terminationGracePeriodSeconds:"),
    ]) {
      file("kept.yaml", text);
      const { out } = await audit("kept.yaml");
      assert.doesNotMatch(out, /fix:.*(?:itself|grace period)/);
    }
  });

  test("a baseline does not hide a finding that became worse, and writing a baseline tells of a file that was not read", async () => {
    const budget = (name: string): string =>
      `---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: { name: ${name} }\nspec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: AlwaysAllow, selector: { matchLabels: { app: web } } }\n`;
    const text = `${service}---\n${deployment().replace("spec:", "spec:\n  replicas: 3")}`;
    file("worse.yaml", text);
    const written = await audit("worse.yaml", "nowhere.yaml", "--baseline", "worse.json", "--write");
    assert.equal(written.code, 2);
    assert.equal((await audit("worse.yaml", "--baseline", "worse.json")).code, 0);
    file("worse.yaml", `${text}${budget("a")}${budget("b")}`);
    const { code, out } = await audit("worse.yaml", "--baseline", "worse.json");
    assert.equal(code, 1);
    assert.match(out, /select the same pods/);
  });

  test("the audit writes several formats at once", async () => {
    const { out } = await audit("web.yaml", "--out", "a.sarif", "-o", "a.xml", "--json", "a.json");
    assert.match(out, /no-lame-duck/);
    assert.equal(
      (JSON.parse(readFileSync(join(folder, "a.sarif"), "utf8")) as { version: string }).version,
      "2.1.0",
    );
    assert.match(readFileSync(join(folder, "a.xml"), "utf8"), /^<\?xml/);
    assert.ok(
      (JSON.parse(readFileSync(join(folder, "a.json"), "utf8")) as { findings: unknown[] }).findings.length >
        0,
    );
  });

  test("a baseline hides the findings that it holds, wherever their manifest moves to", async () => {
    await audit("web.yaml", "--baseline", "base.json", "--write");
    file("moved.yaml", `# a line\n# and another\n${service}---\n${deployment()}`);
    const { code, out } = await audit("moved.yaml", "--baseline", "base.json");
    assert.equal(code, 0, out);
    assert.match(out, /\d suppressed/);
  });

  test("the configuration of the audit sets severities, ignored findings and facts, and a mistake in it is named by line", async () => {
    file(
      ".lameduck-audit.yaml",
      "assume: { drain: 20s }\nrules:\n  no-lame-duck: { severity: error, reason: we mean it }\n",
    );
    assert.match((await audit("web.yaml")).out, /error: there is no preStop hook/);
    file(
      "ignore.yaml",
      "ignore:\n  - { rule: no-lame-duck, workload: Deployment web, reason: internal only }\n",
    );
    assert.match((await audit("web.yaml", "--config", "ignore.yaml")).out, /1 suppressed/);
    for (const [text, place] of [
      ["rules:\n  no-such-rule: { severity: off, reason: x }\n", /c\.yaml:2:3.*UNKNOWN_RULE/],
      ["rules:\n  no-lame-duck: { severity: off }\n", /c\.yaml:2:3.*needs a reason.*BAD_CONFIG/],
      ["assume:\n  drain: 20\n", /c\.yaml:2:10.*BAD_CONFIG/],
      ['kubernetes: "new"\n', /^error kubernetes: of c\.yaml new.*BAD_OPTION/],
      ["kubernetes: 1.30\n", /c\.yaml:1:13.*in quotes.*BAD_CONFIG/],
      ["typo: 1\n", /c\.yaml:1:7.*BAD_CONFIG/],
      ["[", /c\.yaml:1.*BAD_CONFIG/],
    ] as const) {
      file("c.yaml", text);
      const { code, err } = await audit("web.yaml", "--config", "c.yaml");
      assert.equal(code, 2);
      assert.match(err, place);
    }
    rmSync(join(folder, ".lameduck-audit.yaml"));
  });

  test("annotations give the audit a fact or a reason to ignore a rule, and an unknown rule or a wrong value is a mistake", async () => {
    const annotated = (line: string): string =>
      deployment().replace("{ name: web } #", `{ name: web, annotations: { ${line} } } #`);
    file("x.yaml", annotated("lameduck.dev/ignore-no-lame-duck: batch only"));
    assert.match((await audit("x.yaml")).out, /1 suppressed/);
    file("x.yaml", annotated("lameduck.dev/ignore-no-lameduck: batch only"));
    assert.match((await audit("x.yaml")).err, /x\.yaml:3:\d+.*UNKNOWN_RULE/);
    file("x.yaml", annotated('lameduck.dev/ignore-no-lame-duck: ""'));
    assert.match((await audit("x.yaml")).err, /must be the reason.*BAD_ANNOTATION/);
    file("x.yaml", annotated("lameduck.dev/drian: 5s"));
    assert.match((await audit("x.yaml")).err, /did you mean lameduck\.dev\/drain\?.*BAD_ANNOTATION/);
    file("x.yaml", annotated("lameduck.dev/serves: no"));
    assert.match((await audit("x.yaml")).err, /must be "true" or "false".*BAD_ANNOTATION/);
    file("x.yaml", annotated("lameduck.dev/floor: 5s, lameduck.dev/inject: nothing"));
    assert.equal((await audit("x.yaml")).err, "");
    file("x.yaml", annotated("lameduck.dev/drain: soon"));
    assert.match((await audit("x.yaml")).err, /BAD_ANNOTATION/);
  });

  test("the audit judges a Dockerfile's shell form and its STOPSIGNAL", async () => {
    file(
      "Dockerfile",
      "FROM debian AS build\nFROM debian\nSTOPSIGNAL SIGUSR1\nENTRYPOINT haproxy -f x | tee log\n",
    );
    const { out } = await audit("web.yaml", "--image", "Dockerfile");
    assert.match(out, /PID 1 is `sh -c`.*\[shell-swallows-term\]/);
  });

  for (const [what, args, message] of [
    ["an unknown fact", ["a", "--assume", "x=1s"], /NAME=DURATION/],
    [
      "a fact without unit",
      ["a", "--assume", "drain=20"],
      /^error --assume drain: "20" has no unit: .*BAD_DURATION/,
    ],
    ["a file that is not there", ["nowhere"], /^error nowhere: no such file or directory \[/],
    [
      "a report into no folder",
      ["a", "--out", "html=b/c"],
      /^error --out b\/c: no such file or directory \[/,
    ],
    ["an unknown kind of file", ["a", "--out", "a.pdf"], /write KIND=FILE, with one of the kinds html/],
    ["two formats to stdout", ["a", "--json", "-", "--out", "html=-"], /only one output goes to stdout/],
    ["--write alone", ["a", "--write"], /goes with --fix or --baseline/],
    ["a namespace with files", ["a", "-n", "x"], /instead of files/],
    ["a wrong namespace", ["-n", "../x"], /no name of a namespace/],
    ["--fix as JSON", ["a", "--fix", "--json", "-"], /prints a diff/],
    ["--fix of a cluster", ["-A", "--fix"], /changes files/],
    ["an unknown rule", ["a", "--rule", "nope"], /UNKNOWN_RULE/],
    ["a baseline that is none", ["web.yaml", "--baseline", "web.yaml"], /BAD_BASELINE/],
    ["a Dockerfile that is not there", ["web.yaml", "--image", "nowhere"], /NAME=SOURCE/],
  ] as const)
    test(`a wrong command line of the audit is one error: ${what}`, async () => {
      const { code, err } = await audit(...args);
      assert.equal(code, 2);
      assert.match(err, message);
      assert.equal(err.trim().split("\n").length, 1);
    });
});
