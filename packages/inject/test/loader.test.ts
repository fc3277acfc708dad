import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { copyContainer } from "../src/init-volume.ts";
import { loader } from "../src/node-options.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-loader-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function started(options: string): {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
} {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["-e", "console.log('app')"], {
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: options },
  });
  return { status, out: stdout, err: stderr };
}

describe("what NODE_OPTIONS of an injected Node app loads", () => {
  it("the loader in NODE_OPTIONS keeps no app from starting where the library is missing", () => {
    assert.deepEqual(started(loader), { status: 0, out: "app\n", err: "" });
    assert.equal(started("--require /lameduck/lameduck-register.cjs").status, 1, "as --require would");
  });

  it("the loader in NODE_OPTIONS loads the library before the app, and keeps the options that the app had", () => {
    const file = join(folder, "lameduck-register.cjs");
    writeFileSync(file, "console.log('library', process.title)");
    const { out } = started(`--title=kept ${loader.replace("/lameduck/lameduck-register.cjs", file)}`);
    assert.equal(out, "library kept\napp\n");
  });
});

describe("the init container that copies", () => {
  const [, flag = "", script = ""] = copyContainer("registry.example/lameduck")["command"] as string[];

  it("the init container copies both files, and ends well where they are missing", () => {
    const [from, to] = [join(folder, "image"), join(folder, "pod")];
    const inFolder = script
      .replaceAll('"/lameduck/', `"${to}/`)
      .replaceAll('"/lameduck-', `"${from}/lameduck-`);
    const run = (): number | null => spawnSync(process.execPath, [flag, inFolder]).status;
    assert.equal(run(), 0);
    for (const path of [from, to]) spawnSync("mkdir", [path]);
    writeFileSync(join(from, "lameduck-init"), "#!/bin/true\n", { mode: 0o755 });
    assert.equal(run(), 0);
    assert.equal(spawnSync("test", ["-x", join(to, "lameduck-init")]).status, 0);
  });
});
