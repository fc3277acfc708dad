import assert from "node:assert/strict";
import { test } from "node:test";
import { readManifest } from "../src/index.ts";

const deployment = (containers: string, more = ""): string => `kind: Deployment
metadata: { name: shop }
spec: { template: { spec: { ${more}containers: [${containers}] } } }
`;

const given = ["node", "server.js", "$x"];

test("a given command replaces an image; other containers keep theirs, with arguments and user", () => {
  const text = deployment(
    `{ name: proxy, image: envoy, args: [-c, x], securityContext: { runAsUser: 5, readOnlyRootFilesystem: true, capabilities: { drop: [CAP_KILL] } } },
     { name: shop, image: shop, workingDir: /app, args: [--old], ports: [{ containerPort: 3000 }] }, { name: log, command: [tail] }`,
    "securityContext: { runAsUser: 4, runAsGroup: 3, fsGroup: 2, runAsNonRoot: true }, initContainers: [{ name: migrate, image: shop }, { name: wait, command: [sleep] }], ",
  );
  const { template, warnings } = readManifest(text, "m.yaml", given);
  assert.deepEqual(
    template.containers.map(({ name, image, command, args, workingDirectory }) => [
      name,
      image?.name,
      command,
      args,
      workingDirectory,
    ]),
    [
      ["proxy", "envoy", [], ["-c", "x"], undefined],
      ["shop", undefined, ["node", "server.js", "$$x"], undefined, undefined],
      ["log", undefined, ["tail"], undefined, undefined],
    ],
  );
  assert.deepEqual(template.containers[0]?.security, {
    user: 5,
    group: 3,
    mustNotBeRoot: true,
    groups: [2],
    isRootReadOnly: true,
    droppedCapabilities: ["KILL"],
  });
  assert.deepEqual(
    template.initContainers.map(({ name, image }) => [name, image?.name]),
    [
      ["migrate", "shop"],
      ["wait", undefined],
    ],
  );
  assert.equal(template.port, 3_000);
  assert.ok(warnings.some((line) => line.includes("workingDir: is left out")));
});

test("a given command replaces that of the serving container, where each container has one", () => {
  const text = deployment(
    `{ name: log, command: [tail] }, { name: shop, command: [old], ports: [{ containerPort: 80 }] }`,
  );
  const { template } = readManifest(text, "m.yaml", ["new"]);
  assert.deepEqual(
    template.containers.map(({ command }) => command),
    [["tail"], ["new"]],
  );
});
