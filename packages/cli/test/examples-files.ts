import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const ws = createRequire(import.meta.url).resolve("ws");
const fixtures = join(import.meta.dirname, "..", "..", "node", "test", "fixtures");

/** Writes what examples name, with a server that speaks what they ask for. */
export function furnish(folder: string, protocol: string): void {
  mkdirSync(join(folder, "deploy"), { recursive: true });
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  write(
    "config",
    `{ current-context: dev, clusters: [{ name: c, cluster: { server: "http://127.0.0.1:1" } }],
    contexts: [{ name: dev, context: { cluster: c } }] }`,
  );
  write("order.json", "{}");
  write("headers.txt", "Authorization: Bearer eyJh\n");
  write(
    "haproxy.cfg",
    "defaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\n" +
      "frontend web\n  bind :8080\n  http-request return status 200\n",
  );
  write("k6.json", "");
  write("lab.json", "{}");
  const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
        - { name: web, image: node, command: [node, server.js], workingDir: ${folder}, ports: [{ containerPort: 8080 }], readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 } }
`;
  for (const name of ["deployment.yaml", "web.yaml", "deploy/web.yaml"]) write(name, deployment);
  for (const name of ["localhost-key.pem", "localhost-cert.pem"])
    copyFileSync(join(fixtures, name), join(folder, name));
  write("shop.yaml", scenario());
  write(
    "server.js",
    `const fs = require("node:fs");\n${server(folder, protocol)}.listen(Number(process.env.PORT ?? 8080));\n`,
  );
}

/** The first scenario of its page, which has all fields. */
function scenario(): string {
  const page = readFileSync(
    join(import.meta.dirname, "..", "..", "..", "docs", "tools", "simulate.md"),
    "utf8",
  );
  return /```yaml\n(.*?)```/s.exec(page)?.[1] ?? "";
}

function server(folder: string, protocol: string): string {
  const tls = `{ key: fs.readFileSync("${folder}/localhost-key.pem"), cert: fs.readFileSync("${folder}/localhost-cert.pem") }`;
  const create: Record<string, string> = {
    http: `require("node:http").createServer((_, response) => response.end("ok"))`,
    h2: `require("node:http2").createSecureServer(${tls}, (_, response) => response.end("ok"))`,
    grpc: `require("node:http2").createServer().on("stream", (stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.alloc(5));
    })`,
    ws: `server = require("node:http").createServer((_, response) => response.end());
      new (require("${ws}").WebSocketServer)({ server }).on("connection", (socket) => socket.on("message", () => socket.send("pong")));
      server`,
  };
  const code = create[protocol];
  assert.ok(code, `no server speaks ${protocol}`);
  return code;
}
