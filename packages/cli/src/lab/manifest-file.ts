import { readFileSync } from "node:fs";
import { readManifest, type Workload } from "@lameduck/manifests";
import { CliError } from "../errors.ts";
import { messageOf } from "@lameduck/drain/common";

/** The workload of a manifest; `-` is stdin. */
export function readWorkload(file: string): Workload {
  return readManifest(read(file), file);
}

function read(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw new CliError("LAMEDUCK_BAD_OPTION", "--file", messageOf(error));
  }
}
