import { createHash } from "node:crypto";
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { manifestYaml } from "@lameduck/manifests";
import { writeLayer, type LayerFile } from "../../packages/operator/image/oci/layer.ts";
import { must } from "../must.ts";
import { folderOf, manifestOf, root } from "../pack/workspace.ts";
import { installedWith } from "../sbom.ts";

/**
 * Writes the plugin of kubectl and its manifest for krew. The plugin is the package of the command with everything that npm installs with it, for
 * all systems alike; the machine brings Node.
 * @param tarballs the packed packages.
 * @returns both files.
 */
export async function writePlugin(folder: string, tarballs: readonly string[]): Promise<string[]> {
  const { version, description = "", homepage, engines } = manifestOf(folderOf("cli"));
  const archive = join(folder, `kubectl-lameduck-${version}.tar.gz`);
  const workplace = mkdtempSync(join(tmpdir(), "lameduck-plugin-"));
  try {
    const unpacked = tarballs.map((tarball, number) => {
      const at = join(workplace, `${number}`);
      must("mkdir", [at], workplace);
      must("tar", ["-xzf", tarball, "-C", at, "--strip-components=1"], workplace);
      return at;
    });
    const others = installedWith(folderOf("cli")).filter(
      (one) => !manifestOf(one).name.startsWith("@lameduck/"),
    );
    const files = [...unpacked, ...others].flatMap(filesOf);
    const tar = join(workplace, "plugin.tar");
    await writeLayer(
      { files: [{ to: "/LICENSE", from: join(root, "LICENSE"), mode: 0o644 }, ...files] },
      tar,
    );
    writeFileSync(archive, gzipSync(readFileSync(tar), { level: 9 }));
  } finally {
    rmSync(workplace, { recursive: true });
  }
  const manifest = join(folder, "lameduck.yaml");
  writeFileSync(
    manifest,
    manifestYaml({
      apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
      kind: "Plugin",
      metadata: { name: "lameduck" },
      spec: {
        version: `v${version}`,
        homepage,
        shortDescription: "Find and prove requests that rollouts lose",
        description,
        caveats: `It needs Node ${engines?.node ?? ""} on the PATH.`,
        platforms: [
          {
            selector: { matchExpressions: [{ key: "os", operator: "In", values: ["linux", "darwin"] }] },
            uri: `${addressOfRelease()}/${relative(folder, archive)}`,
            sha256: sha256Of(archive),
            bin: "node_modules/lameduck/bin/lameduck.js",
          },
        ],
      },
    }),
  );
  return [archive, manifest];
}

export const sha256Of = (file: string): string =>
  createHash("sha256").update(readFileSync(file)).digest("hex");

/** Where the files of this version are, once it is released. */
export function addressOfRelease(): string {
  const { version, repository } = manifestOf(root);
  const address = (repository?.url ?? "").replace(/^git\+/, "").replace(/\.git$/, "");
  return `${address}/releases/download/v${version}`;
}

function filesOf(folder: string): LayerFile[] {
  const { name } = manifestOf(folder);
  // A package's own node_modules would be another version of what is above; none has any.
  return globSync("**/*", { cwd: folder, exclude: ["node_modules"] })
    .sort()
    .filter((file) => statSync(join(folder, file)).isFile())
    .map((file) => ({
      to: `/node_modules/${name}/${file}`,
      from: join(folder, file),
      mode: file.startsWith("bin/") ? 0o755 : 0o644,
    }));
}
