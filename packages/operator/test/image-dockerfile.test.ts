import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { ImageError } from "../image/built.ts";
import { operatorImage, writeArchive, writeFiles } from "../image/image.ts";
import { path } from "../image/oci/archive.ts";

const processor = process.arch === "arm64" ? "arm64" : "x64";
const folder = join(import.meta.dirname, "..", "image");
const directory = mkdtempSync(join(tmpdir(), "lameduck-dockerfile-"));
after(() => rmSync(directory, { recursive: true }));

/** The script needs both inits, a build, and Debian's iptables and nftables. */
const image = await operatorImage(processor).catch((error: unknown) => {
  if (error instanceof ImageError) return error;
  throw error;
});
const skip = image instanceof ImageError && image.message;

const instructions = readFileSync(join(folder, "Dockerfile"), "utf8")
  .replaceAll(/^#.*\n/gm, "")
  .replaceAll(/\\\n\s*/g, "")
  .trim()
  .split(/\n+/);
const [building, shipped] = [0, 1].map((stage) => {
  const starts = instructions.flatMap((line, at) => (line.startsWith("FROM ") ? [at] : []));
  return instructions.slice(starts[stage], starts[stage + 1]);
}) as [string[], string[]];
const valuesOf = (instruction: string): Record<string, string> =>
  Object.fromEntries(
    shipped
      .filter((line) => line.startsWith(`${instruction} `))
      .map((line) => /^\w+ ([\w.]+)="(.*)"$/.exec(line)?.slice(1) as [string, string]),
  );

describe("the Dockerfile", { skip }, () => {
  if (image instanceof ImageError) return;

  it("sets what the script sets: user, entrypoint, environment, labels, and nothing else", () => {
    assert.deepEqual(valuesOf("ENV"), { PATH: path, ...image.environment });
    assert.deepEqual(valuesOf("LABEL"), image.labels);
    const others = shipped.filter((line) => !/^(ENV|LABEL) /.test(line));
    assert.deepEqual(others, [
      "FROM scratch",
      "COPY --from=build /files/ /",
      `USER ${image.user}`,
      `ENTRYPOINT [${image.entrypoint.map((one) => JSON.stringify(one)).join(", ")}]`,
    ]);
  });

  it("has its files from the script, and builds with the Node of package-lock.json", () => {
    assert.ok(instructions.includes(`ARG BASE=node:${image.environment?.["NODE_VERSION"]}-trixie`));
    assert.match(building.at(-1) ?? "", /&& node packages\/operator\/image\/main\.ts \/files --files --only/);
    const ignored = readFileSync(join(folder, "Dockerfile.dockerignore"), "utf8").split("\n");
    for (const one of ["**/node_modules", "**/dist", "**/*.tsbuildinfo"]) assert.ok(ignored.includes(one));
  });

  it("has the files of the archive, with their modes: the license, the user's name, Node, its libraries", async () => {
    const files = join(directory, "files");
    await writeFiles(files, processor);
    const archive = join(directory, "image.tar");
    await writeArchive([image], archive, { reference: "lameduck.test/x:1" });
    const layers = execFileSync("tar", ["-tf", archive], { encoding: "utf8" })
      .split("\n")
      .filter((name) => name.startsWith("blobs/"))
      .map((name) => execFileSync("tar", ["-xOf", archive, name], { maxBuffer: 2 ** 30 }))
      .filter((blob) => blob[0] !== 0x7b);
    const listed = layers.flatMap((layer) =>
      execFileSync("tar", ["-tv"], { input: layer, encoding: "utf8" })
        .split("\n")
        .filter((line) => line.startsWith("-"))
        .map((line) => `${line.slice(0, 10)} ${line.slice(line.lastIndexOf(" ") + 1)}`),
    );
    const written = readdirSync(files, { recursive: true, encoding: "utf8" }).flatMap((name) => {
      const { mode } = lstatSync(join(files, name));
      if (lstatSync(join(files, name)).isDirectory()) return [];
      return [`${mode & 0o111 ? "-rwxr-xr-x" : "-rw-r--r--"} ${name}`];
    });
    assert.deepEqual(written.sort(), listed.sort());
    for (const one of ["LICENSE", "etc/passwd", "usr/local/bin/node", "lameduck-operator.cjs"])
      assert.ok(
        written.some((line) => line.endsWith(` ${one}`)),
        one,
      );
    assert.match(readFileSync(join(files, "etc/passwd"), "utf8"), /^lameduck:x:65532:65532:/);
  });
});
