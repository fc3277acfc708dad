import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { fileProblem, messageOf } from "@lameduck/drain/common";
import { KubernetesError } from "../errors.ts";

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
  as: z.string().optional(),
  "as-uid": z.string().optional(),
  "as-groups": z.array(z.string()).nullish(),
  "as-user-extra": z.record(z.string(), z.array(z.string())).nullish(),
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

export type Cluster = z.infer<typeof clusterSchema>;
export type User = z.infer<typeof userSchema>;
type Context = z.infer<typeof contextSchema>;

/** An entry and the folder that its relative paths start from. */
export interface From<T> {
  readonly value: T;
  readonly file: string;
}

export interface Merged {
  readonly files: readonly string[];
  current: string | undefined;
  readonly clusters: Map<string, From<Cluster>>;
  readonly users: Map<string, From<User>>;
  readonly contexts: Map<string, From<Context>>;
}

/** Of several files the first that names a thing wins. @throws {KubernetesError} where one cannot be read, or is no kubeconfig. */
export function readAll(paths: readonly string[], required: boolean): Merged {
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
    if ((error as NodeJS.ErrnoException).code === "ENOENT" && !required) return undefined;
    throw new KubernetesError("LAMEDUCK_NO_KUBECONFIG", path, fileProblem(error));
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
  const entry = first?.path.join(".") ?? "";
  throw entry === ""
    ? new KubernetesError("LAMEDUCK_KUBECONFIG_INVALID", path, "is no kubeconfig")
    : new KubernetesError("LAMEDUCK_KUBECONFIG_INVALID", `${path}: ${entry}`, first?.message ?? "is wrong");
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
