import { readFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { fileProblem } from "@lameduck/drain/common";
import { KubernetesError } from "../errors.ts";
import type { ClusterConnection } from "./connection.ts";
import { runExecPlugin } from "./exec-plugin.ts";
import type { Cluster, From, User } from "./kubeconfig-file.ts";

/** The credentials of a kubeconfig's user. They are asked for again when the last ones have expired. */
export function credentialsOf(
  user: From<User> | undefined,
  cluster: Cluster,
  name: string,
): ClusterConnection["credentials"] {
  if (!user) return () => Promise.resolve({ expires: Infinity });
  const { value, file } = user;
  if (value["auth-provider"])
    throw new KubernetesError(
      "LAMEDUCK_KUBECONFIG_INVALID",
      `${file}: user "${name}"`,
      `auth-provider "${value["auth-provider"].name}" is no longer part of Kubernetes (since 1.26): it has become an exec plugin`,
    );
  const plugin = value.exec;
  if (plugin)
    return (signal) => runExecPlugin(plugin, { folder: dirname(file), user: name, cluster }, signal);
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

export function material(
  data: string | undefined,
  path: string | undefined,
  file: string,
): Buffer | undefined {
  if (data !== undefined && data !== "") return Buffer.from(data, "base64");
  return path === undefined || path === "" ? undefined : readMaterial(path, file);
}

export function readMaterial(path: string, file: string): Buffer {
  try {
    return readFileSync(isAbsolute(path) ? path : join(dirname(file), path));
  } catch (error) {
    throw new KubernetesError("LAMEDUCK_KUBECONFIG_INVALID", file, `${path}: ${fileProblem(error)}`);
  }
}
