/**
 * A client in a mesh of its own: feeds the Envoy beside it by xDS, and sends through it.
 *
 *     node client.mjs ADDRESSES-URL DELAY-MS EVERY-MS
 *
 * The URL lists the EndpointSlices of a Service. An address that is ready no more stays among the endpoints for DELAY-MS: this is a control plane that
 * lags. Prints each answer as a line of JSON.
 */
import { readFile } from "node:fs/promises";
import { createServer, get } from "node:http";
import { get as getTls } from "node:https";

const [slices, delay, every] = process.argv.slice(2);
const [delayMs, everyMs] = [Number(delay), Number(every)];
const [xdsPort, proxyPort, appPort] = [18000, 15001, 8080];
/** Between two looks at the slices. */
const lookMs = 250;
const folder = "/var/run/secrets/kubernetes.io/serviceaccount";

/** By address: when it was ready last. */
const readyAt = new Map();

const isTls = slices.startsWith("https:");
const [token, ca] = isTls
  ? await Promise.all(["token", "ca.crt"].map((name) => readFile(`${folder}/${name}`, "utf8")))
  : [];

function read() {
  return new Promise((resolve, reject) => {
    const options = isTls ? { ca, headers: { authorization: `Bearer ${token}` } } : {};
    (isTls ? getTls : get)(slices, { ...options, timeout: 2_000 }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => (text += chunk));
      response.on("end", () =>
        response.statusCode === 200 ? resolve(JSON.parse(text)) : reject(new Error(text)),
      );
    }).on("error", reject);
  });
}

async function look() {
  try {
    const now = performance.now();
    for (const { endpoints } of (await read()).items)
      for (const { addresses, conditions } of endpoints ?? [])
        if (conditions.ready) readyAt.set(addresses[0], now);
    for (const [address, at] of readyAt) if (now - at > delayMs) readyAt.delete(address);
  } catch (error) {
    console.error(String(error));
  }
  setTimeout(() => void look(), lookMs);
}

/** Envoy asks for endpoints by POST /v3/discovery:endpoints. */
createServer((request, response) => {
  request.resume();
  const endpoints = [...readyAt.keys()].sort((a, b) => a.localeCompare(b));
  const lb_endpoints = endpoints.map((address) => ({
    endpoint: { address: { socket_address: { address, port_value: appPort } } },
  }));
  const type = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
  response.setHeader("content-type", "application/json");
  response.end(
    JSON.stringify({
      version_info: endpoints.join(),
      resources: [{ "@type": type, cluster_name: "web", endpoints: [{ lb_endpoints }] }],
    }),
  );
}).listen(xdsPort, "127.0.0.1");

function send() {
  const say = (fields) => console.log(JSON.stringify({ at: Date.now(), ...fields }));
  get({ host: "127.0.0.1", port: proxyPort, path: "/", agent: false, timeout: 10_000 }, (response) => {
    response.resume();
    say({ status: response.statusCode, to: response.headers["x-upstream"] });
  }).on("error", (error) => say({ error: error.code }));
}

await look();
setTimeout(() => setInterval(send, everyMs), Math.random() * everyMs);
