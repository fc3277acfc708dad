import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { KubernetesError } from "../errors.ts";
import type { ClusterConnection, Impersonation } from "./connection.ts";
import { credentialsOf, material, readMaterial } from "./credentials.ts";
import { proxyFor } from "./proxy.ts";
import { readAll, type Merged, type User } from "./kubeconfig-file.ts";

export interface ConnectionOptions {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** The user to impersonate. */
  readonly user?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
}

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * The cluster that kubectl would talk to: --kubeconfig, else the files of KUBECONFIG, else ~/.kube/config, else the pod's own service
 * account. Of several files the first that names a thing wins.
 * @throws {KubernetesError} LAMEDUCK_NO_KUBECONFIG, LAMEDUCK_KUBECONFIG_INVALID, LAMEDUCK_NO_SUCH_CONTEXT,
 * LAMEDUCK_PROXY_NOT_SUPPORTED.
 */
export function clusterConnection(options: ConnectionOptions = {}): ClusterConnection {
  const env = options.env ?? process.env;
  // kubectl, too, takes an empty KUBECONFIG as not set.
  const named = (env["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "");
  const given = options.kubeconfig === undefined ? named : [options.kubeconfig];
  const paths = given.length > 0 ? given : [join(homedir(), ".kube", "config")];
  const merged = readAll(paths, options.kubeconfig !== undefined);
  const isInPod = env["KUBERNETES_SERVICE_HOST"] !== undefined && given.length === 0;
  if (merged.files.length === 0 && !isInPod)
    throw new KubernetesError("LAMEDUCK_NO_KUBECONFIG", paths.join(delimiter), "no such file");
  const found = merged.files.length > 0 ? fromKubeconfig(merged, options.context) : inCluster(env);
  return actingAs({ ...found, proxy: proxyFor(found.server, found.proxy, env) }, options);
}

/** The flag --as takes precedence over the kubeconfig. */
function actingAs(found: ClusterConnection, { user = "" }: ConnectionOptions): ClusterConnection {
  return user === "" ? found : { ...found, impersonation: { user, groups: [] } };
}

function fromKubeconfig(merged: Merged, wanted: string | undefined): ClusterConnection {
  const place = merged.files.join(delimiter);
  const name = wanted ?? merged.current;
  const known = [...merged.contexts.keys()];
  if (name === undefined)
    throw new KubernetesError("LAMEDUCK_NO_SUCH_CONTEXT", place, `no current context; it has ${list(known)}`);
  const context = merged.contexts.get(name)?.value;
  if (!context)
    throw new KubernetesError(
      "LAMEDUCK_NO_SUCH_CONTEXT",
      wanted === undefined ? place : "--context",
      `no context "${name}"; there is ${list(known)}`,
    );
  const cluster = merged.clusters.get(context.cluster);
  if (!cluster)
    throw invalid(place, `context "${name}" names the cluster "${context.cluster}", which is not there`);
  const user = context.user ? merged.users.get(context.user) : undefined;
  if (context.user && !user)
    throw invalid(place, `context "${name}" names the user "${context.user}", which is not there`);
  const { value, file } = cluster;
  return {
    context: name,
    cluster: context.cluster,
    server: serverUrl(value.server, file),
    namespace: context.namespace || "default",
    ca: material(value["certificate-authority-data"], value["certificate-authority"], file),
    insecure: value["insecure-skip-tls-verify"] ?? false,
    serverName: value["tls-server-name"],
    proxy: value["proxy-url"],
    impersonation: impersonationOf(user?.value),
    credentials: credentialsOf(user, value, context.user ?? ""),
  };
}

function impersonationOf(user: User | undefined): Impersonation | undefined {
  if (!user?.as) return undefined;
  const { as, "as-uid": uid, "as-groups": groups, "as-user-extra": extra } = user;
  return { user: as, uid, groups: groups ?? [], extra: extra ?? {} };
}

function serverUrl(text: string, file: string): URL {
  const url = URL.parse(text);
  if (url && (url.protocol === "https:" || url.protocol === "http:")) return url;
  throw invalid(file, `"${text}" is not the URL of a server`);
}

function inCluster(env: NodeJS.ProcessEnv): ClusterConnection {
  const host = env["KUBERNETES_SERVICE_HOST"] ?? "";
  const port = env["KUBERNETES_SERVICE_PORT"] ?? "443";
  const file = (name: string): Buffer => readMaterial(name, join(serviceAccount, "in-cluster"));
  return {
    context: "in-cluster",
    cluster: "in-cluster",
    server: new URL(`https://${host.includes(":") ? `[${host}]` : host}:${port}`),
    namespace: file("namespace").toString("utf8").trim(),
    ca: file("ca.crt"),
    insecure: false,
    serverName: undefined,
    proxy: undefined,
    impersonation: undefined,
    credentials: () =>
      Promise.resolve({
        authorization: `Bearer ${file("token").toString("utf8").trim()}`,
        expires: Date.now() + 60_000,
      }),
  };
}

function invalid(place: string, problem: string): KubernetesError {
  return new KubernetesError("LAMEDUCK_KUBECONFIG_INVALID", place, problem);
}

function list(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.map((name) => `"${name}"`).join(", ");
}
