import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Probe } from "@lameduck/manifests";
import { observe, workload } from "./local-stage.ts";

export const limit = { timeout: 60_000 };

/** Clocks are read before and after what they measure, in milliseconds. */
export const grain = 20;

export const probe = (handler: Probe["handler"], more: Partial<Probe> = {}): Probe => ({
  handler,
  initialDelaySeconds: 0,
  periodSeconds: 1,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 1,
  ...more,
});

export const get = (path: string): Probe["handler"] => ({
  kind: "http",
  scheme: "HTTP",
  port: 8080,
  path,
  headers: [],
});

/** A file that containers write to and the test reads. */
export function scratch(context: TestContext): { readonly file: string; readonly text: () => string } {
  const directory = mkdtempSync(join(tmpdir(), "lameduck-test-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, "written");
  return {
    file,
    text: () => {
      try {
        return readFileSync(file, "utf8");
      } catch {
        return "";
      }
    },
  };
}

/** Source of a program that appends to such a file. */
export const write = (file: string, text: string): string =>
  `require("node:fs").appendFileSync("${file}", ${text});`;

/** Starts a workload on the network and waits until it is ready. */
export const startOn =
  (network: Parameters<typeof observe>[1]) =>
  async (context: TestContext, ...[command, changes]: Parameters<typeof workload>) => {
    const observed = observe(context, network, workload(command, changes));
    await observed.stage.ready();
    return observed;
  };
