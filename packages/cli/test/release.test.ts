/** What `npm run release -- --dry-run` makes, held against the programs that will read it. `npm run test:release` runs it. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { cacheDirectory } from "../../../e2e/cluster/host/paths.ts";
import { buildKrew, helmHere } from "../../../e2e/cluster/host/programs.ts";
import { without } from "../../../scripts/programs.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const skip = process.env["LAMEDUCK_RELEASE"] === "1" ? false : "minutes: npm run test:release";
const folder = skip ? "" : mkdtempSync(join(tmpdir(), "lameduck-release-test-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
const made = join(folder, "made");
const helm = skip ? undefined : await helmHere(cacheDirectory());

describe("a release", { skip }, () => {
  let out = "";
  before(() => {
    const script = join(root, "scripts/release/release.ts");
    out = execFileSync(process.execPath, [script, "--dry-run", "--to", made], {
      cwd: root,
      encoding: "utf8",
    });
  });

  test("shows every artefact with size, digest and licences, and publishes nothing", () => {
    const files = [
      `lameduck-init-${version}.tgz`,
      `lameduck-node-${version}.tgz`,
      `lameduck-${version}.tgz`,
      "lameduck-init-x64",
      "lameduck-init-arm64",
      `lameduck-image-${version}.tar`,
      `lameduck-image-clouds-${version}.tar`,
      ...(helm === undefined ? [] : [`lameduck-chart-${version}.tgz`]),
      `kubectl-lameduck-${version}.tar.gz`,
      "lameduck.yaml",
    ];
    for (const file of files) {
      const at = out.indexOf(`${file}: `);
      assert.notEqual(at, -1, `${file}: ${out}`);
      assert.match(
        out.slice(at, out.indexOf("\n\n", at)),
        /^ {2}\d+ kB {2}sha256:[0-9a-f]{64}$[^]*^ {2}licences: \S/m,
      );
    }
    assert.match(out, /^Nothing was published\.$/m);
    execFileSync("sha256sum", ["--check", "--strict", "--quiet", "SHA256SUMS"], { cwd: made });
  });

  test("has bills of materials by the schema of CycloneDX", async () => {
    const [, names = ""] = /^Bills of materials \(CycloneDX\): (.*)$/m.exec(out) ?? [];
    const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
    assert.equal(names.split(", ").length, 7, names);
    for (const name of names.split(", "))
      assert.equal(await validator.validate(readFileSync(join(made, name), "utf8")), null, name);
  });

  test("has a chart that Helm renders", { skip: helm === undefined && "needs Helm" }, () => {
    const chart = join(made, `lameduck-chart-${version}.tgz`);
    const text = execFileSync(helm ?? "", ["template", "lameduck", chart, "--kube-version", "1.36.0"], {
      encoding: "utf8",
    });
    assert.match(text, /^kind: MutatingWebhookConfiguration$/m);
  });

  test(
    "has a plugin that krew accepts and installs, and kubectl runs",
    { skip: without("go", "kubectl") },
    async () => {
      const programs = await buildKrew(cacheDirectory(), (line) => process.stderr.write(`${line}\n`));
      const manifest = join(made, "lameduck.yaml");
      const archive = join(made, `kubectl-lameduck-${version}.tar.gz`);
      const env = {
        ...process.env,
        KREW_ROOT: join(folder, "krew"),
        PATH: [join(folder, "krew/bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter),
      };
      mkdirSync(env.KREW_ROOT);
      // Its checker also fetches the archive, which is not there yet: the form is checked before.
      const { stderr } = spawnSync(
        join(programs, "validate-krew-manifest"),
        ["-manifest", manifest, "-skip-install"],
        {
          encoding: "utf8",
        },
      );
      assert.doesNotMatch(stderr, /F\d{4}/, stderr);
      const install = ["install", `--manifest=${manifest}`, `--archive=${archive}`];
      execFileSync(join(programs, "krew"), install, { env, stdio: ["ignore", "pipe", "pipe"] });
      const help = execFileSync("kubectl", ["lameduck", "help", "no-lame-duck"], { env, encoding: "utf8" });
      assert.match(help, /no-lame-duck/);
    },
  );
});
