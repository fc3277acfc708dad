import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { KubernetesError } from "../errors.ts";
import type { ClusterConnection, Credentials } from "./connection.ts";
import { runExecPlugin, type ExecPlugin } from "./exec-plugin.ts";

export interface ConnectionOptions {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
}

const named = <T extends z.ZodType>(name: string, value: T) =>
  z.array(z.object({ name: z.string(), [name]: value })).nullish();

const clusterSchema = z.object({
  server: z.string(),
  "certificate-authority": z.string().optional(),
  "certificate-authority-data": z.string().optional(),
  "insecure-skip-tls-verify": z.boolean().optional(),
  "tls-server-name": z.string().optional(),
  "proxy-url": z.string().optional(),
});
const userSchema = z.object({
  "client-certificate": z.string().optional(),
  "client-certificate-data": z.string().optional(),
  "client-key": z.string().optional(),
  "client-key-data": z.string().optional(),
  token: z.string().optional(),
  tokenFile: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
  exec: z
    .object({
      command: z.string(),
      args: z.array(z.string()).nullish(),
      env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
      apiVersion: z.string(),
      provideClusterInfo: z.boolean().optional(),
      installHint: z.string().optional(),
    })
    .optional(),
  "auth-provider": z.object({ name: z.string() }).optional(),
});
const contextSchema = z.object({
  cluster: z.string(),
  user: z.string().optional(),
  namespace: z.string().optional(),
});
const configSchema = z.object({
  "current-context": z.string().optional(),
  clusters: named("cluster", clusterSchema),
  users: named("user", userSchema.nullish()),
  contexts: named("context", contextSchema),
});

type Cluster = z.infer<typeof clusterSchema>;
type User = z.infer<typeof userSchema>;
type Context = z.infer<typeof contextSchema>;

/** An entry and the folder that its relative paths start from. */
interface From<T> {
  readonly value: T;
  readonly file: string;
}

interface Merged {
  readonly files: readonly string[];
  current: string | undefined;
  readonly clusters: Map<string, From<Cluster>>;
  readonly users: Map<string, From<User>>;
  readonly contexts: Map<string, From<Context>>;
}

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * The cluster that kubectl would talk to: --kubeconfig, else the files of KUBECONFIG, else ~/.kube/config, else the pod's own service
 * account. Of several files the first that names a thing wins.
 * @throws {KubernetesError} LAMEDUCK_NO_KUBECONFIG, LAMEDUCK_KUBECONFIG_INVALID, LAMEDUCK_NO_SUCH_CONTEXT.
 */
export function clusterConnection(options: ConnectionOptions = {}): ClusterConnection {
  const env = options.env ?? process.env;
  const given = options.kubeconfig ?? env["KUBECONFIG"];
  const paths =
    options.kubeconfig === undefined
      ? (given ?? join(homedir(), ".kube", "config")).split(delimiter).filter((path) => path !== "")
      : [options.kubeconfig];
  const merged = readAll(paths, options.kubeconfig !== undefined);
  if (merged.files.length > 0) return fromKubeconfig(merged, options.context);
  if (env["KUBERNETES_SERVICE_HOST"] !== undefined && given === undefined) return inCluster(env);
  throw new KubernetesError("LAMEDUCK_NO_KUBECONFIG", paths.join(delimiter), "no such file");
}

function readAll(paths: readonly string[], required: boolean): Merged {
  const files: string[] = [];
  const merged: Merged = {
    files,
    current: undefined,
    clusters: new Map(),
    users: new Map(),
    contexts: new Map(),
  };
  for (const path of paths) {
    const text = read(path, required);
    if (text === undefined) continue;
    files.push(path);
    add(merged, parsed(text, path), resolve(path));
  }
  return merged;
}

function read(path: string, required: boolean): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    if (missing && !required) return undefined;
    throw new KubernetesError("LAMEDUCK_NO_KUBECONFIG", path, missing ? "no such file" : messageOf(error));
  }
}

function parsed(text: string, path: string): z.infer<typeof configSchema> {
  let value: unknown;
  try {
    value = parse(text) ?? {};
  } catch (error) {
    throw new KubernetesError("LAMEDUCK_KUBECONFIG_INVALID", path, messageOf(error).split("\n")[0] ?? "");
  }
  const result = configSchema.safeParse(value);
  if (result.success) return result.data;
  const [first] = result.error.issues;
  throw new KubernetesError(
    "LAMEDUCK_KUBECONFIG_INVALID",
    `${path}: ${first?.path.join(".") ?? ""}`,
    first?.message ?? "not a kubeconfig",
  );
}

function add(merged: Merged, config: z.infer<typeof configSchema>, file: string): void {
  merged.current ??= config["current-context"] || undefined;
  const into = <T>(map: Map<string, From<T>>, name: string, value: T): void => {
    if (!map.has(name)) map.set(name, { value, file });
  };
  for (const one of config.clusters ?? [])
    into(merged.clusters, one.name as string, one["cluster"] as Cluster);
  for (const one of config.users ?? []) into(merged.users, one.name as string, (one["user"] ?? {}) as User);
  for (const one of config.contexts ?? [])
    into(merged.contexts, one.name as string, one["context"] as Context);
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
    throw new KubernetesError(
      "LAMEDUCK_KUBECONFIG_INVALID",
      place,
      `context "${name}" names the cluster "${context.cluster}", which is not there`,
    );
  const user = context.user ? merged.users.get(context.user) : undefined;
  if (context.user && !user)
    throw new KubernetesError(
      "LAMEDUCK_KUBECONFIG_INVALID",
      place,
      `context "${name}" names the user "${context.user}", which is not there`,
    );
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
    credentials: credentialsOf(user, value, context.user ?? ""),
  };
}

function serverUrl(text: string, file: string): URL {
  const url = URL.parse(text);
  if (url && (url.protocol === "https:" || url.protocol === "http:")) return url;
  throw new KubernetesError("LAMEDUCK_KUBECONFIG_INVALID", file, `"${text}" is not the URL of a server`);
}

function credentialsOf(
  user: From<User> | undefined,
  cluster: Cluster,
  name: string,
): () => Promise<Credentials> {
  if (!user) return () => Promise.resolve({ expires: Infinity });
  const { value, file } = user;
  if (value["auth-provider"])
    throw new KubernetesError(
      "LAMEDUCK_KUBECONFIG_INVALID",
      `${file}: user "${name}"`,
      `auth-provider "${value["auth-provider"].name}" is no longer part of Kubernetes (since 1.26): it has become an exec plugin`,
    );
  const plugin = value.exec;
  if (plugin) {
    const call: ExecPlugin = { ...plugin, args: plugin.args ?? [], env: plugin.env ?? [] };
    return () => runExecPlugin(call, { folder: dirname(file), user: name, cluster });
  }
  return async () => {
    const cert = material(value["client-certificate-data"], value["client-certificate"], file);
    const key = material(value["client-key-data"], value["client-key"], file);
    const authorization = authorizationOf(value, file);
    return Promise.resolve({
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(authorization === undefined ? {} : { authorization }),
      // Bound service account tokens are renewed in their file; a minute is what client-go waits, too.
      expires: value.tokenFile === undefined ? Infinity : Date.now() + 60_000,
    });
  };
}

function authorizationOf({ token, tokenFile, username, password }: User, file: string): string | undefined {
  if (tokenFile !== undefined) return `Bearer ${readMaterial(tokenFile, file).toString("utf8").trim()}`;
  if (token !== undefined && token !== "") return `Bearer ${token}`;
  if (username === undefined) return undefined;
  return `Basic ${Buffer.from(`${username}:${password ?? ""}`).toString("base64")}`;
}

function material(data: string | undefined, path: string | undefined, file: string): Buffer | undefined {
  if (data !== undefined && data !== "") return Buffer.from(data, "base64");
  return path === undefined || path === "" ? undefined : readMaterial(path, file);
}

function readMaterial(path: string, file: string): Buffer {
  try {
    return readFileSync(isAbsolute(path) ? path : join(dirname(file), path));
  } catch (error) {
    throw new KubernetesError("LAMEDUCK_KUBECONFIG_INVALID", file, messageOf(error));
  }
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
    credentials: () =>
      Promise.resolve({
        authorization: `Bearer ${file("token").toString("utf8").trim()}`,
        expires: Date.now() + 60_000,
      }),
  };
}

function list(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.map((name) => `"${name}"`).join(", ");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
