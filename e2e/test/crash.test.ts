import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Cluster, leftovers, stateDirectory, whyNot } from "../cluster/index.ts";
import { failedLogs } from "../cluster/teardown.ts";
import { quietCluster } from "./support.ts";

const reason = await whyNot();
const index = JSON.stringify(join(import.meta.dirname, "..", "cluster", "index.ts"));

describe("after a crash", { skip: reason ?? false }, () => {
  it("a start of the cluster removes what a killed run left, whole or half way up, and comes up again", async () => {
    for (const moment of ["Ready", "namespaces"]) {
      const program = `
        const { Cluster } = await import(${index});
        await Cluster.up({ nodes: 1, say: (line) => process.stdout.write(line + "\\n") });
        setInterval(() => {}, 1000);`;
      const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let said = "";
      for await (const chunk of child.stdout.setEncoding("utf8")) {
        said += String(chunk);
        if (said.includes(moment)) break;
      }
      assert.match(said, new RegExp(moment));
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      assert.notDeepEqual(await leftovers(stateDirectory()), [], "a killed process cannot tidy up");
      await using cluster = await quietCluster({ nodes: 1 });
      assert.match(await cluster.kubectl(["get", "nodes"]), /node1 +Ready/);
    }
    assert.deepEqual(await leftovers(stateDirectory()), []);
  });

  it("a start of the cluster that is aborted half way up leaves no trace", async () => {
    const abort = new AbortController();
    const say = (line: string): void => {
      if (line.includes("API server ready")) abort.abort(new Error("enough"));
    };
    await assert.rejects(Cluster.up({ nodes: 1, say, signal: abort.signal }), /enough/);
    assert.deepEqual(await leftovers(stateDirectory()), []);
    await assert.rejects(access(failedLogs(stateDirectory())), { code: "ENOENT" });
  });
});
