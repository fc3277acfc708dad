import assert from "node:assert/strict";
import { test } from "node:test";
import { readManifest } from "../src/index.ts";

const deployment = (containers: string, more = ""): string => `kind: Deployment
metadata: { name: shop }
spec: { template: { spec: { ${more}containers: [${containers}] } } }
`;

const given = ["node", "server.js", "$x"];

test("a given command replaces an image, and a container without any command is left out with a warning", () => {
  const text = deployment(
    `{ name: proxy, image: envoy }, { name: shop, image: shop, workingDir: /app, args: [--old], ports: [{ containerPort: 3000 }] },
     { name: log, command: [tail] }`,
    "initContainers: [{ name: migrate, image: shop }, { name: wait, command: [sleep] }], ",
  );
  const { template, warnings } = readManifest(text, "m.yaml", given);
  assert.deepEqual(
    template.containers.map(({ name, command, workingDirectory }) => [name, command, workingDirectory]),
    [
      ["shop", ["node", "server.js", "$$x"], undefined],
      ["log", ["tail"], undefined],
    ],
  );
  assert.deepEqual(
    template.initContainers.map(({ name }) => name),
    ["wait"],
  );
  assert.equal(template.port, 3_000);
  assert.equal(warnings.filter((line) => line.includes("an image and no command")).length, 2);
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
