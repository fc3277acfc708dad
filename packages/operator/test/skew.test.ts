import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { initBinary } from "@lameduck/init";
import { defaultSettings, inject, podToInject, type ClusterFacts, applyPatch } from "@lameduck/inject";
import { injectedAnnotation } from "@lameduck/protocol";
import { parseAllDocuments } from "yaml";
import { webhookFlags } from "../../webhook/src/flags.ts";

const facts: ClusterFacts = {
  lameduckVersion: "0.2.0",
  exposedBy: ["Service web"],
  version: { major: 1, minor: 36 },
  convergenceSeconds: undefined,
  architectures: ["amd64"],
};

const pod = (container: object = {}): object => ({
  metadata: { name: "web" },
  spec: { containers: [{ name: "web", image: "web:1", ports: [{ containerPort: 80 }], ...container }] },
});

const patchOf = (of: object): string => JSON.stringify(inject(podToInject(of), defaultSettings, facts).patch);

function injectedBy(lameduckVersion: string): object {
  return applyPatch(
    pod(),
    inject(podToInject(pod()), defaultSettings, { ...facts, lameduckVersion }).patch,
  ) as object;
}

describe("versions one apart", () => {
  it("what is injected names its version", () => {
    const { metadata } = injectedBy("0.2.0") as { metadata: { annotations: Record<string, string> } };
    assert.equal(metadata.annotations[injectedAnnotation], "0.2.0");
  });

  it("a pod that another version has injected is left alone, whichever it is", () => {
    for (const version of ["0.1.0", "0.3.0", "1.0.0-rc.1"]) assert.equal(patchOf(injectedBy(version)), "[]");
  });

  it("an app's own Lameduck wins, whatever its version: no hook is put before it", () => {
    for (const container of [
      { env: [{ name: "LAMEDUCK_POLICY", value: "a policy that we do not know" }] },
      { command: ["node", "--import", "@lameduck/node/register", "server.js"] },
      { command: ["/lameduck-init", "--flag-of-tomorrow", "--", "server"] },
    ])
      assert.doesNotMatch(patchOf(pod(container)), /preStop"/);
  });

  const init = builtInit();
  it("the hook uses only flags that lameduck-init knows", { skip: init === undefined }, () => {
    const known = execFileSync(init!, ["wait", "--help"], { encoding: "utf8" });
    const [, list = ""] = /"command":\[([^\]]+)\]/.exec(patchOf(pod({ image: "haproxy:3" }))) ?? [];
    const flags = (JSON.parse(`[${list}]`) as string[]).filter((word) => word.startsWith("--"));
    assert.ok(flags.length >= 3, list);
    for (const flag of flags) assert.ok(known.includes(flag), flag);
  });

  it("the chart starts the operator by flags that it knows", () => {
    const page = readFileSync(join(import.meta.dirname, "..", "..", "..", "docs", "install.yaml"), "utf8");
    const objects = parseAllDocuments(page).map((one) => one.toJS() as { kind?: string } | null);
    const deployment = objects.find((one) => one?.kind === "Deployment") as unknown as {
      spec: { template: { spec: { containers: [{ args: string[] }] } } };
    };
    const [command, ...flags] = deployment.spec.template.spec.containers[0].args;
    assert.equal(command, "webhook");
    assert.ok(webhookFlags([...flags, "--namespace", "n"]));
  });
});

function builtInit(): string | undefined {
  try {
    return initBinary();
  } catch {
    return undefined;
  }
}
