import { spawn } from "node:child_process";
import { isAbsolute, join } from "node:path";
import { z } from "zod";
import { KubernetesError } from "../errors.ts";
import type { Credentials } from "./connection.ts";
import type { Cluster, User } from "./kubeconfig-file.ts";

/** A program that issues credentials (client.authentication.k8s.io), as cloud providers and OIDC helpers ship. */
type ExecPlugin = NonNullable<User["exec"]>;

interface PluginCall {
  /** Relative commands with a slash in them start from the kubeconfig's folder. */
  readonly folder: string;
  readonly user: string;
  readonly cluster: Cluster;
}

/** A person needs time to log in with a browser. A plugin that takes longer has hung. */
const longestMs = 120_000;

const answerSchema = z.object({
  kind: z.literal("ExecCredential"),
  status: z.object({
    token: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
    expirationTimestamp: z.string().optional(),
  }),
});

/** @throws {KubernetesError} LAMEDUCK_CREDENTIALS_FAILED with what the program said. */
export async function runExecPlugin(
  plugin: ExecPlugin,
  call: PluginCall,
  signal?: AbortSignal,
): Promise<Credentials> {
  const place = `user "${call.user}": ${plugin.command}`;
  const { code, out, err } = await run(plugin, call, place, signal);
  if (code !== 0)
    throw failed(place, `ended with exit code ${String(code)}: ${err.trim().split("\n").at(-1) ?? ""}`);
  let answer: unknown;
  try {
    answer = JSON.parse(out);
  } catch {
    throw failed(place, "printed no JSON");
  }
  const { success, data } = answerSchema.safeParse(answer);
  if (!success) throw failed(place, "printed no ExecCredential with a status");
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = data.status;
  if (token === undefined && clientCertificateData === undefined)
    throw failed(place, "issued neither a token nor a certificate");
  return {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(clientCertificateData === undefined ? {} : { cert: clientCertificateData }),
    ...(clientKeyData === undefined ? {} : { key: clientKeyData }),
    expires: Date.parse(expirationTimestamp ?? "") || Infinity,
  };
}

function run(
  plugin: ExecPlugin,
  call: PluginCall,
  place: string,
  signal: AbortSignal | undefined,
): Promise<{ code: number | null; out: string; err: string }> {
  const relative = plugin.command.includes("/") && !isAbsolute(plugin.command);
  const info = {
    apiVersion: plugin.apiVersion,
    kind: "ExecCredential",
    spec: {
      interactive: process.stdin.isTTY,
      ...(plugin.provideClusterInfo ? { cluster: call.cluster } : {}),
    },
  };
  // Not spawn's own timeout, which keeps our process for two minutes where the program cannot be started.
  const limit = AbortSignal.timeout(longestMs);
  return new Promise((resolve, reject) => {
    const child = spawn(relative ? join(call.folder, plugin.command) : plugin.command, plugin.args ?? [], {
      env: {
        ...process.env,
        ...Object.fromEntries((plugin.env ?? []).map(({ name, value }) => [name, value])),
        KUBERNETES_EXEC_INFO: JSON.stringify(info),
      },
      stdio: [process.stdin.isTTY ? "inherit" : "ignore", "pipe", "pipe"],
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    let out = "";
    let err = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      err += text;
      // A device code or the address to log in at is for the person in front of the terminal.
      if (process.stdin.isTTY) process.stderr.write(text);
    });
    child.on("error", (error) => {
      if (limit.aborted) reject(failed(place, `did not end within ${longestMs / 1_000} s`));
      else reject(failed(place, `${error.message}${plugin.installHint ? `. ${plugin.installHint}` : ""}`));
    });
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

function failed(place: string, problem: string): KubernetesError {
  return new KubernetesError("LAMEDUCK_CREDENTIALS_FAILED", place, problem);
}
