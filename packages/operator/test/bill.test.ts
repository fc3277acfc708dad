import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { folderOf, manifestOf, published } from "../../../scripts/pack/workspace.ts";
import { billOf, installedWith, npmComponent } from "../../../scripts/sbom.ts";
import { billPath } from "../image/bill/bill.ts";
import { ownersOf } from "../image/bill/debian-owners.ts";
import { licenceOf, together } from "../image/bill/licences.ts";
import { ImageError } from "../image/built.ts";
import { operatorImage } from "../image/image.ts";

interface Listed {
  readonly name: string;
  readonly version?: string;
  readonly purl?: string;
  readonly licenses: readonly [{ readonly expression: string }];
  readonly evidence?: { readonly occurrences: readonly { readonly location: string }[] };
}

/** By the schema that CycloneDX publishes. */
const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
const listedIn = (text: string): Listed[] => (JSON.parse(text) as { components: Listed[] }).components;

/** The script needs both inits, a build, and Debian's iptables and nftables. */
const image = await operatorImage(process.arch === "arm64" ? "arm64" : "x64").catch((error: unknown) => {
  if (error instanceof ImageError) return error;
  throw error;
});

describe("bills of materials", () => {
  for (const name of published)
    it(`that of packages/${name} has CycloneDX's form, and names what npm installs with the package`, async () => {
      const folder = folderOf(name);
      const text = billOf(npmComponent(folder), installedWith(folder).map(npmComponent));
      assert.equal(await validator.validate(text), null);
      const urls = listedIn(text).map(({ purl = "" }) => decodeURIComponent(purl));
      for (const direct of Object.keys(manifestOf(folder).dependencies ?? {}))
        assert.ok(
          urls.some((one) => one.startsWith(`pkg:npm/${direct}@`)),
          direct,
        );
    });

  it("the form is held against the schema", async () => {
    const wrong = billOf({ type: "library", name: "a", licence: "MIT" }, []).replace("library", "nonsense");
    assert.notEqual(await validator.validate(wrong), null);
  });

  it("that of the image has CycloneDX's form, and is in the image", async (t) => {
    if (image instanceof ImageError) return t.skip(image.message);
    assert.equal(await validator.validate(image.bill), null);
    const files = image.layers.flatMap((layer) => layer.files);
    assert.equal(files.find(({ to }) => to === billPath)?.content, image.bill);
  });

  it("that of the image names whose each file of Debian's is, and the image has that package's licence", (t) => {
    if (image instanceof ImageError) return t.skip(image.message);
    const listed = listedIn(image.bill);
    const located = new Map(
      listed.flatMap(({ name, evidence }) =>
        (evidence?.occurrences ?? []).map(({ location }) => [location, name] as const),
      ),
    );
    const files = new Map(image.layers.flatMap((layer) => layer.files).map((file) => [file.to, file]));
    // Programs and libraries lie here; what else the image has was made here, or is Node.
    const foreign = [...files.keys()].filter((path) => /^\/(?:usr\/)?(?:lib|lib64|sbin)\//.test(path));
    assert.ok(foreign.length > 20);
    for (const path of foreign) {
      const name = located.get(path);
      assert.ok(name !== undefined, path);
      const licence = files.get(`/usr/share/doc/${name}/copyright`)?.from ?? "";
      for (const [named] of readFileSync(licence, "utf8").matchAll(/\/usr\/share\/common-licenses\/GPL-\d/g))
        assert.ok(files.has(named), `${named} of ${name}`);
    }
    assert.match(readFileSync(files.get("/usr/share/doc/node/LICENSE")?.from ?? "", "utf8"), /Node\.js/);
  });

  it("the image's label has every licence of its bill, and the image the text of each npm package's", (t) => {
    if (image instanceof ImageError) return t.skip(image.message);
    const label = image.labels["org.opencontainers.image.licenses"] ?? "";
    assert.match(label, /\bApache-2\.0\b.*\bGPL-2\.0-only\b.*\bLGPL-2\.1-or-later\b/);
    const listed = listedIn(image.bill);
    assert.equal(
      together(["Apache-2.0", ...listed.map(({ licenses: [{ expression }] }) => expression)]),
      label,
    );
    const texts = image.layers
      .flatMap((layer) => layer.files)
      .find(({ to }) => to.endsWith("/npm-licences.txt"))?.content;
    const npm = listed.filter(({ purl = "" }) => purl.startsWith("pkg:npm/"));
    assert.ok(npm.some(({ name }) => name === "pino"));
    for (const { name, version } of npm) assert.ok(texts?.includes(`${name} ${version}: `), name);
  });

  it("a file that nobody packed, and a package whose licence nobody has read, keep the image from being written", (t) => {
    const directory = mkdtempSync(join(tmpdir(), "lameduck-bill-"));
    t.after(() => rmSync(directory, { recursive: true }));
    const file = join(directory, "libmystery.so");
    writeFileSync(file, "");
    assert.throws(() => ownersOf([file]), ImageError);
    assert.throws(() => licenceOf("libmystery1"), /libmystery1.*licences\.ts/);
  });

  it("licences of parts are put together once each, with a choice in parentheses", () => {
    assert.equal(together(["MIT", "B-1 OR A-1", "ISC AND MIT"]), "(B-1 OR A-1) AND ISC AND MIT");
  });
});
