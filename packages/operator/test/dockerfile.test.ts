/**
 * The image of the Dockerfile, built by buildah for both processors on root file systems that mmdebstrap makes from Debian's packages: no
 * registry is asked, so the base that the Dockerfile names is not pulled. `npm run test:dockerfile` runs it.
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { withoutRootOr } from "../../../scripts/programs.ts";
import { writeContext } from "../image/context.ts";
import { operatorImage, places } from "../image/image.ts";

const skip =
  process.env["LAMEDUCK_DOCKERFILE"] === "1"
    ? withoutRootOr("buildah", "mmdebstrap")
    : "minutes: npm run test:dockerfile";
const folder = skip ? "" : mkdtempSync(join(tmpdir(), "lameduck-dockerfile-"));
after(() => {
  if (!skip) buildah("rm", "--all");
  rmSync(folder, { recursive: true, force: true });
});

/** With a store of its own. */
function buildah(...args: string[]): string {
  const store = ["--root", join(folder, "root"), "--runroot", join(folder, "run"), "--storage-driver", "vfs"];
  return execFileSync("buildah", [...store, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}

const context = join(folder, "context");
const processors = [
  { architecture: "amd64", processor: "x64", emulator: "qemu-x86_64" },
  { architecture: "arm64", processor: "arm64", emulator: "qemu-aarch64" },
] as const;

describe("the image of the Dockerfile", { skip }, () => {
  before(() => writeContext(context));

  for (const { architecture, processor, emulator } of processors)
    test(`is built for ${architecture} on a base of one's own, and its programs run`, async (t) => {
      const base = baseFor(architecture);
      const tag = `localhost/lameduck:${architecture}`;
      const build = ["build", "--isolation", "chroot", "--platform", `linux/${architecture}`, "--tag", tag];
      buildah(...build, "--build-arg", `BASE=${base}`, context);

      const { OCIv1: built } = JSON.parse(buildah("inspect", "--type", "image", tag)) as Inspected;
      const archive = await operatorImage(processor);
      assert.equal(built.architecture, architecture);
      assert.deepEqual(built.config.Entrypoint, archive.entrypoint);
      assert.equal(built.config.User, archive.user);
      assert.ok(built.config.Env.includes("NODE_ENV=production"));
      assert.deepEqual(archive.environment, { NODE_ENV: "production" });
      assert.equal(
        built.config.Labels["org.opencontainers.image.version"],
        archive.labels["org.opencontainers.image.version"],
      );

      const root = buildah("mount", buildah("from", "--pull-never", tag).trim()).trim();
      const isNative = processor === process.arch;
      if (!isNative && spawnSync(emulator, ["--version"]).error)
        return t.skip(`needs ${emulator} to run them`);
      const run = (program: string, ...args: string[]): string =>
        isNative
          ? execFileSync("chroot", ["--userspec=65532:65532", root, program, ...args], { encoding: "utf8" })
          : execFileSync(emulator, ["-L", root, join(root, program), ...args], { encoding: "utf8" });
      assert.match(run(places.node, "--version"), /^v24\./);
      const operator = isNative ? places.operator : join(root, places.operator);
      assert.match(run(places.node, operator, "--help"), /lameduck-operator/);
      assert.match(run(places.init, "--version"), /^lameduck-init 0\./);
      // An emulator has no netlink to netfilter.
      for (const program of ["/usr/sbin/nft", "/usr/sbin/iptables-nft-save"])
        if (isNative) assert.match(run(program, "--version"), / v\d/);
        else assert.ok(existsSync(join(root, program)), program);
    });
});

interface Inspected {
  readonly OCIv1: {
    readonly architecture: string;
    readonly config: {
      readonly User: string;
      readonly Entrypoint: readonly string[];
      readonly Env: readonly string[];
      readonly Labels: Readonly<Record<string, string>>;
    };
  };
}

/** Nothing runs while it is made, so that it may be for another processor. */
function baseFor(architecture: string): string {
  const tree = join(folder, `base-${architecture}.tar`);
  const [, suite = ""] = /^VERSION_CODENAME=(\w+)/m.exec(readFileSync("/etc/os-release", "utf8")) ?? [];
  const packages = "--include=iptables,libstdc++6,nftables";
  execFileSync("mmdebstrap", [
    "--quiet",
    "--variant=extract",
    `--architectures=${architecture}`,
    packages,
    suite,
    tree,
  ]);
  const container = buildah("from", "--arch", architecture, "scratch").trim();
  buildah("add", container, tree, "/");
  buildah("config", "--arch", architecture, container);
  buildah("commit", container, `localhost/base:${architecture}`);
  return `localhost/base:${architecture}`;
}
