import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { KubernetesClient } from "@lameduck/kube";
import { proxyFor } from "../src/connection/proxy.ts";
import { connectionTo } from "./api-server.ts";

const api = new URL("https://api.example:6443/prefix");
const proxy = "http://proxy.example:3128/";
const where = (server: URL, env: NodeJS.ProcessEnv, own?: string): string | undefined =>
  proxyFor(server, own, env, "24.5.0");

test("the proxy is that of the kubeconfig, or else that of the environment, as for kubectl", () => {
  assert.equal(where(api, {}), undefined);
  assert.equal(where(api, { HTTPS_PROXY: proxy }), proxy);
  assert.equal(where(api, { https_proxy: "proxy.example:3128" }), proxy);
  assert.equal(where(api, { HTTP_PROXY: proxy }), undefined);
  assert.equal(where(new URL("http://api.example"), { HTTP_PROXY: proxy }), proxy);
  assert.equal(where(api, { HTTPS_PROXY: proxy, NO_PROXY: "*" }, "http://own:1"), "http://own:1/");
});

test("NO_PROXY and loopback addresses exempt a server from the proxy", () => {
  const goes = (server: string, NO_PROXY: string): boolean =>
    where(new URL(server), { HTTPS_PROXY: proxy, NO_PROXY }) !== undefined;
  for (const [server, exceptions] of [
    ["https://localhost:6443", ""],
    ["https://127.1.2.3", ""],
    ["https://[::1]:6443", ""],
    ["https://api.example:6443", "*"],
    ["https://api.example:6443", "other, api.example"],
    ["https://api.example:6443", "example"],
    ["https://api.example:6443", ".example"],
    ["https://api.example:6443", "*.example"],
    ["https://api.example:6443", "api.example:6443"],
    ["https://10.1.2.3:6443", "10.0.0.0/8"],
    ["https://10.1.2.3", "10.1.2.3"],
    ["https://[fd00::7]", "fd00::/8"],
    ["https://[fd00::7]", "fd00::7"],
  ] as const)
    assert.equal(goes(server, exceptions), false, `${server} ${exceptions}`);
  for (const [server, exceptions] of [
    ["https://api.example", ".api.example"],
    ["https://api.example:6443", "api.example:443"],
    ["https://myapi.example", "api.example"],
    ["https://10.1.2.3", "10.1.0.0/24,11.0.0.0/8,1.2.3"],
    ["https://10.1.2.3", "nonsense/8"],
  ] as const)
    assert.equal(goes(server, exceptions), true, `${server} ${exceptions}`);
});

test("a proxy that would be ignored is refused", () => {
  const refused = (version: string, own = proxy): boolean => {
    try {
      proxyFor(api, own, {}, version);
      return false;
    } catch (error) {
      assert.equal((error as { code?: string }).code, "LAMEDUCK_PROXY_NOT_SUPPORTED");
      return true;
    }
  };
  assert.deepEqual(
    ["22.20.0", "23.11.0", "24.4.1"].map((version) => refused(version)),
    [true, true, true],
  );
  assert.deepEqual(
    ["22.21.0", "24.5.0", "26.0.0"].map((version) => refused(version)),
    [false, false, false],
  );
  assert.equal(refused("24.5.0", "socks5://localhost:1080"), true);
  assert.equal(proxyFor(api, undefined, {}, "20.0.0"), undefined, "without a proxy any Node does");
});

test("requests go through the chosen proxy, and past any other", { skip: isTooOld() }, async (t) => {
  const seen: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url);
    response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const ask = async (to: string, through: string | undefined): Promise<void> => {
    const client = new KubernetesClient({ ...connectionTo(to), proxy: through });
    await client.get("/version");
    client.close();
  };
  await ask("http://api.example", address);
  const { HTTP_PROXY } = process.env;
  t.after(() => {
    if (HTTP_PROXY === undefined) delete process.env["HTTP_PROXY"];
    else process.env["HTTP_PROXY"] = HTTP_PROXY;
  });
  process.env["HTTP_PROXY"] = "http://127.0.0.1:1";
  await ask(address, undefined);
  assert.deepEqual(seen, ["http://api.example/version", "/version"]);
});

function isTooOld(): string | false {
  try {
    proxyFor(api, proxy, {});
    return false;
  } catch {
    return "this Node's agents know no proxies";
  }
}
