/** One of two servers, told by its parent: ours, or the least that a webhook can be. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { injectingHandler } from "../../webhook/src/admission/mutate.ts";
import { AdmissionServer } from "../../webhook/src/admission/server.ts";
import { validate } from "../../webhook/src/admission/validate.ts";
import { rotate } from "../../webhook/src/certificates/rotate.ts";
import { PathIndex } from "@lameduck/cluster";
import { WebhookMetrics } from "../../webhook/src/metrics.ts";

const services = 50;

const { authority, leaf } = await rotate(
  undefined,
  Date.now(),
  { names: ["localhost"], certificateLifetime: 3_600_000, authorityLifetime: 3_600_000 },
  () => true,
);

async function ours(): Promise<number> {
  const paths = new PathIndex();
  for (let index = 0; index < services; index++)
    paths.service({
      type: "there",
      object: {
        metadata: { name: `s${index}`, uid: `u${index}`, namespace: "shop" },
        selector: Object.entries({ app: index === 0 ? "web" : `other-${index}`, tier: "front" }),
        isHeadless: false,
        isLocal: false,
        needs: [],
        convergence: { value: 10, origin: "kube-proxy" },
      },
      at: 0,
      live: true,
      since: 0,
    });
  const metrics = new WebhookMetrics();
  const server = new AdmissionServer({
    mutate: injectingHandler({
      cluster: {
        pathsTo: (namespace, labels) => paths.pathsTo(namespace, labels),
        labelsOf: () => ({ "lameduck.dev/inject": "enabled" }),
        policyOf: () => undefined,
        architectures: ["amd64"],
      },
      namespace: "lameduck-system",
      lameduckVersion: "0.1.0",
      version: () => ({ major: 1, minor: 36 }),
    }),
    validate,
    notReady: () => undefined,
    onReview: (path, outcome, seconds) => metrics.reviewed(path, outcome, seconds),
  });
  server.useCertificate(leaf);
  return server.listen(0, "127.0.0.1");
}

function least(): Promise<number> {
  const server = createServer(leaf, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { request: asked } = JSON.parse(Buffer.concat(chunks).toString()) as { request: { uid: string } };
      const answer = {
        apiVersion: "admission.k8s.io/v1",
        kind: "AdmissionReview",
        response: { uid: asked.uid, allowed: true },
      };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
  });
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)),
  );
}

const port = await (process.argv[2] === "ours" ? ours() : least());
process.send?.({ port, ca: authority.cert });
process.on("message", () => process.send?.({ cpu: process.cpuUsage(), rss: process.memoryUsage().rss }));
