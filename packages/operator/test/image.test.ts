import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { bundledPackage, ImageError } from "../image/built.ts";
import { cloudPackages, operatorImage, writeArchive, type PlatformImage } from "../image/image.ts";

const directory = mkdtempSync(join(tmpdir(), "lameduck-image-"));
after(() => rmSync(directory, { recursive: true }));

const program = join(directory, "program");
writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });

const imageFor = (architecture: "amd64" | "arm64"): PlatformImage => ({
  architecture,
  layers: [
    { files: [{ to: "/usr/bin/program", from: program }], writable: ["/tmp"] },
    { files: [{ to: "/etc/of", content: architecture, mode: 0o644 }] },
  ],
  entrypoint: ["/usr/bin/program"],
  user: "65532:65532",
  labels: { "org.opencontainers.image.version": "1.2.3" },
});

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly architecture: string };
}

const write = (name: string, compress: boolean, images: readonly PlatformImage[]): Promise<string> =>
  writeArchive(images, join(directory, name), { reference: "lameduck.test/program:1.2.3", compress });

/** A file of an archive, as tar reads it. */
const read = (archive: string, path: string): Buffer =>
  execFileSync("tar", ["-xOf", join(directory, archive), path]);

const blob = (archive: string, { digest, size }: Descriptor): Buffer => {
  const bytes = read(archive, `blobs/sha256/${digest.slice(7)}`);
  assert.equal(createHash("sha256").update(bytes).digest("hex"), digest.slice(7));
  assert.equal(bytes.length, size);
  return bytes;
};

const json = (bytes: Buffer): Record<string, unknown> =>
  JSON.parse(bytes.toString()) as Record<string, unknown>;

describe("the layer of the image that reads clouds", () => {
  it("has what the watcher imports, so that a program beside it finds each in one file", async () => {
    const names = {
      "@aws-sdk/client-elastic-load-balancing-v2": "ElasticLoadBalancingV2Client",
      "google-auth-library": "GoogleAuth",
    };
    assert.deepEqual(Object.keys(names), [...cloudPackages]);
    for (const [name, exported] of Object.entries(names)) {
      const folder = join(directory, "clouds", "node_modules", name);
      mkdirSync(folder, { recursive: true });
      const files = await bundledPackage(name, "watcher");
      assert.deepEqual([...files.keys()].sort(), ["index.js", "package.json"]);
      for (const [file, content] of files) writeFileSync(join(folder, file), content);
      const script = `import("${name}").then(({ default: all }) => console.log(typeof all.${exported}))`;
      const said = execFileSync(process.execPath, ["-e", script], { cwd: join(directory, "clouds") });
      assert.equal(said.toString().trim(), "function", name);
    }
  });
});

describe("an OCI archive", () => {
  it("has the same bytes whenever its inputs are equal, whatever their times", async () => {
    const images = [imageFor("amd64"), imageFor("arm64")];
    for (const compress of [false, true]) {
      const first = await write("first.tar", compress, images);
      execFileSync("touch", ["-d", "2001-02-03", program]);
      const second = await write("second.tar", compress, images);
      assert.equal(first, second);
      assert.ok(
        readFileSync(join(directory, "first.tar")).equals(readFileSync(join(directory, "second.tar"))),
      );
    }
    writeFileSync(program, "#!/bin/bash\n");
    assert.notEqual(await write("third.tar", true, images), await write("second.tar", false, images));
  });

  it("is an index over an image for each processor, every blob under its own digest", async () => {
    const digest = await write("two.tar", true, [imageFor("amd64"), imageFor("arm64")]);
    const { manifests } = json(read("two.tar", "index.json")) as unknown as { manifests: [Descriptor] };
    assert.equal(manifests[0].digest, digest);
    const index = json(blob("two.tar", manifests[0])) as unknown as { manifests: Descriptor[] };
    assert.deepEqual(
      index.manifests.map(({ platform }) => platform?.architecture),
      ["amd64", "arm64"],
    );
    for (const one of index.manifests) {
      const { config, layers } = json(blob("two.tar", one)) as unknown as {
        config: Descriptor;
        layers: Descriptor[];
      };
      const { architecture, config: settings } = json(blob("two.tar", config)) as unknown as {
        architecture: string;
        config: { User: string; Labels: object; Entrypoint: string[] };
      };
      assert.equal(architecture, one.platform?.architecture);
      assert.equal(settings.User, "65532:65532");
      assert.deepEqual(settings.Labels, { "org.opencontainers.image.version": "1.2.3" });
      for (const layer of layers) assert.equal(blob("two.tar", layer).readUInt16BE(0), 0x1f8b);
    }
  });

  it("names itself, and is a plain image where there is one processor only", async () => {
    await write("one.tar", false, [imageFor("amd64")]);
    const { manifests } = json(read("one.tar", "index.json")) as unknown as {
      manifests: [Descriptor & { annotations: Record<string, string> }];
    };
    assert.equal(manifests[0].mediaType, "application/vnd.oci.image.manifest.v1+json");
    assert.equal(manifests[0].annotations["io.containerd.image.name"], "lameduck.test/program:1.2.3");
    const { layers } = json(blob("one.tar", manifests[0])) as unknown as { layers: [Descriptor, Descriptor] };
    const layer = blob("one.tar", layers[0]);
    const listing = execFileSync("tar", ["-tv"], { input: layer }).toString();
    assert.match(listing, /drwxrwxrwt 0\/0 +0 1970-01-01 00:00 tmp\//);
    assert.match(listing, /-rwxr-xr-x 0\/0 +\d+ 1970-01-01 00:00 usr\/bin\/program/);
  });
});

/** The script needs both inits, a build, and Debian's iptables and nftables. */
const image = await operatorImage(process.arch === "arm64" ? "arm64" : "x64").catch((error: unknown) => {
  if (error instanceof ImageError) return error;
  throw error;
});

it("the operator's image runs Node as a user that is not root, and has the license and lameduck-init", (t) => {
  if (image instanceof ImageError) return t.skip(image.message);
  const { user, entrypoint, layers } = image;
  assert.equal(user, "65532:65532");
  assert.deepEqual(entrypoint, ["/usr/local/bin/node", "/lameduck-operator.cjs"]);
  const files = new Map(layers.flatMap((layer) => layer.files).map((file) => [file.to, file]));
  for (const one of [...entrypoint, "/LICENSE", "/lameduck-init"]) assert.ok(files.has(one), one);
  assert.match(files.get("/etc/passwd")?.content ?? "", /^lameduck:x:65532:65532:/);
});
