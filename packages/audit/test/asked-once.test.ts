import assert from "node:assert/strict";
import { test } from "node:test";
import { readStream, type Field, type Stream } from "@lameduck/manifests";
import { audit, type InputFile } from "../src/index.ts";
import { options } from "./options.ts";

const service =
  "{ apiVersion: v1, kind: Service, metadata: { name: web, annotations: { a: b } }, spec: { selector: { app: web }, ports: [{ port: 80 }] } }";
const deployment = (name: string): string =>
  `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: ${name} }, spec: { template: { metadata: { labels: { app: web, tier: front } }, spec: { containers: [{ name: web, image: web, ports: [{ containerPort: 80 }] }] } } } }`;

/** How often the YAML of the Service is looked through. */
function readsWith(workloads: number): number {
  const names = Array.from({ length: workloads }, (_, index) => `web-${index}`);
  const file: InputFile = { name: "all.yaml", text: [service, ...names.map(deployment)].join("\n---\n") };
  const stream = readStream(file.text, file.name, () => true);
  let reads = 0;
  const count = (field: Field): void => {
    const { mapping } = field;
    if (mapping === undefined) return;
    const { items } = mapping;
    Object.defineProperty(mapping, "items", { get: () => ((reads += 1), items) });
    for (const [, one] of field.entries()) count(one);
  };
  const [first] = stream.objects;
  assert.ok(first);
  count(first);
  reads = 0;
  const known = new WeakMap<InputFile, Stream>([[file, stream]]);
  const audited = audit([file], { ...options, known });
  assert.equal(audited.inventory.workloads.length, workloads);
  assert.ok(audited.findings.length >= workloads);
  return reads;
}

test("a Service is read once, however many workloads it leads to", () => {
  assert.equal(readsWith(9), readsWith(1));
});

test("Services stand in the order of the file, by whichever label they are found", () => {
  const selecting = (name: string, selector: string): string =>
    service.replace("name: web", `name: ${name}`).replace("selector: { app: web }", `selector: ${selector}`);
  const text = [
    deployment("web"),
    selecting("c", "{ tier: front }"),
    selecting("other", "{ tier: back }"),
    selecting("a", "{ app: web }"),
    selecting("b", "{ tier: front, app: web }"),
    selecting("none", "{}"),
  ].join("\n---\n");
  const [workload] = audit([{ name: "all.yaml", text }], options).inventory.workloads;
  assert.deepEqual(
    workload?.services.map(({ name }) => name),
    ["c", "a", "b"],
  );
});
