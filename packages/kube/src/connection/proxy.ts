import { BlockList, isIP } from "node:net";
import { KubernetesError } from "../errors.ts";

/**
 * The proxy that kubectl would use: the kubeconfig's own, else that of HTTPS_PROXY (or HTTP_PROXY) unless NO_PROXY or loopback takes the server out
 * (Go's golang.org/x/net/http/httpproxy).
 * @throws {KubernetesError} LAMEDUCK_PROXY_NOT_SUPPORTED, where it would be ignored otherwise.
 */
export function proxyFor(
  server: URL,
  own: string | undefined,
  env: NodeJS.ProcessEnv,
  node: string = process.versions.node,
): string | undefined {
  const proxy = own || fromEnvironment(server, env);
  if (proxy === undefined) return undefined;
  const url = URL.parse(proxy.includes("://") ? proxy : `http://${proxy}`);
  // The name and password in its URL are left out.
  const place = url ? `proxy ${url.protocol}//${url.host}` : "the proxy";
  const refuse = (why: string): never => {
    throw new KubernetesError("LAMEDUCK_PROXY_NOT_SUPPORTED", place, why);
  };
  if (!url || !["http:", "https:"].includes(url.protocol))
    return refuse("only http:// and https:// proxies are spoken to");
  if (!agentsKnowProxies(node)) return refuse(`Node ${node} ignores proxies`);
  return url.href;
}

/** Agents take `proxyEnv` since Node 22.21 and 24.5, and ignored it without a word before. */
function agentsKnowProxies(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major === 22) return minor >= 21;
  return major > 24 || (major === 24 && minor >= 5);
}

function fromEnvironment(server: URL, env: NodeJS.ProcessEnv): string | undefined {
  const of = (name: string): string | undefined => env[name.toUpperCase()] || env[name] || undefined;
  const proxy = of(server.protocol === "https:" ? "https_proxy" : "http_proxy");
  return proxy === undefined || isExcepted(server, of("no_proxy") ?? "") ? undefined : proxy;
}

function isExcepted({ hostname, port, protocol }: URL, exceptions: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  if (host === "localhost" || isWithin(host, "127.0.0.0/8") || isWithin(host, "::1/128")) return true;
  const ownPort = port || (protocol === "https:" ? "443" : "80");
  return exceptions.split(",").some((one) => {
    const text = one.trim().toLowerCase();
    if (text === "" || text === "*") return text === "*";
    if (text.includes("/")) return isWithin(host, text);
    const [, name = "", wantedPort = ownPort] =
      /^(.*?)(?::(\d+))?$/.exec(isIP(text) === 6 ? `[${text}]` : text) ?? [];
    if (wantedPort !== ownPort) return false;
    const bare = name.replace(/^\[(.*)\]$/, "$1").replace(/^\*\./, ".");
    return bare.startsWith(".")
      ? host.endsWith(bare)
      : host === bare || (isIP(host) === 0 && host.endsWith(`.${bare}`));
  });
}

function isWithin(host: string, range: string): boolean {
  const [address = "", length = ""] = range.split("/");
  const version = isIP(address);
  if (version === 0 || isIP(host) !== version) return false;
  const family = version === 4 ? "ipv4" : "ipv6";
  const list = new BlockList();
  try {
    list.addSubnet(address, Number(length), family);
  } catch {
    return false;
  }
  return list.check(host, family);
}
