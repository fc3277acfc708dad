import { existsSync } from "node:fs";
import { join } from "node:path";
import { ClusterError } from "../errors.ts";
import { requireProgram } from "../host/requirements.ts";
import { tree, users, withLibraries } from "./catalogue.ts";
import type { Image } from "./image.ts";

export const ingressNginxImage = "lameduck.test/ingress-nginx:1";

const own = join(import.meta.dirname, "ingress-nginx");
const debianModules = "/usr/lib/nginx/modules";
const debianLua = "/usr/share/lua/5.1";
const modules = ["ndk_http_module.so", "ngx_http_lua_module.so"];
/** As Debian names the folders of its libraries. */
const machine = process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
/** Where controller and nginx write; both run as no root. */
const writable = [
  "/etc/nginx",
  ...["auth", "geoip", "ssl", "telemetry"].map((name) => `/etc/ingress-controller/${name}`),
  "/tmp/nginx",
  "/var/lib/nginx",
  "/var/log/nginx",
];
const cjson = `/usr/lib/${machine}/lua/5.1/cjson.so`;

const needed = [
  [join(debianModules, "ngx_http_lua_module.so"), "libnginx-mod-http-lua"],
  [cjson, "lua-cjson"],
  [join(debianLua, "resty", "core.lua"), "lua-resty-core"],
  [join(debianLua, "resty", "lrucache.lua"), "lua-resty-lrucache"],
] as const;

/** Debian's packages that this machine lacks for ingress-nginx. */
export const missingForIngressNginx = (): readonly string[] =>
  needed.filter(([file]) => !existsSync(file)).map(([, debianPackage]) => debianPackage);

/** @throws {ClusterError} @returns the path of nginx. */
async function requireNginxWithLua(): Promise<string> {
  const missing = missingForIngressNginx();
  if (missing.length === 0) return requireProgram("nginx");
  const remedy = `apt-get install -y ${missing.join(" ")}`;
  throw new ClusterError("LAMEDUCK_CLUSTER_MISSING_PACKAGES", ingressNginxImage, remedy);
}

/**
 * ingress-nginx's controller and Lua as its module has them, with Debian's nginx. Its template is mounted. Of the Lua modules that Debian lacks, one is
 * written anew, and the others are absent: who calls them is told.
 * @param built what `buildIngressNginx` returns. @throws {ClusterError}
 */
export async function ingressNginxOf(built: string): Promise<Image> {
  const nginx = await requireNginxWithLua();
  const program = (to: string, from: string) => withLibraries({ to, from });
  return {
    reference: ingressNginxImage,
    layers: [
      {
        files: [
          { to: "/usr/bin/nginx", from: nginx, withLibraries: true },
          ...modules.map((name) => program(`${debianModules}/${name}`, join(debianModules, name))),
          program(cjson, cjson),
          ...(await tree(join(debianLua, "ngx"), `${debianLua}/ngx`, /\.lua$/)),
          ...(await tree(join(debianLua, "resty"), `${debianLua}/resty`, /\.lua$/)),
        ],
        writable,
      },
      users,
      {
        files: [
          { to: "/nginx-ingress-controller", from: join(built, "nginx") },
          { to: "/etc/nginx/nginx.conf", from: join(built, "nginx.conf"), mode: 0o666 },
          ...(await tree(join(built, "lua"), "/etc/nginx/lua", /\.lua$/, /^test$/)),
          { to: "/etc/nginx/lua/absent.lua", from: join(own, "absent.lua"), mode: 0o644 },
          { to: "/etc/nginx/lua/resty/roundrobin.lua", from: join(own, "roundrobin.lua"), mode: 0o644 },
        ],
      },
    ],
    entrypoint: ["/nginx-ingress-controller"],
  };
}
