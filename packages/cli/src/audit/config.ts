import { AuditError, noConfig, readConfig, type Config } from "@lameduck/audit";
import { messageOf } from "@lameduck/drain/common";
import { existsSync, readFileSync } from "node:fs";

/** Read without being asked for where it stands in the working folder. */
const usual = ".lameduck-audit.yaml";

/** @throws {AuditError} LAMEDUCK_AUDIT_BAD_CONFIG, LAMEDUCK_AUDIT_UNKNOWN_RULE */
export function configFrom(file: string | undefined): Config {
  const path = file ?? (existsSync(usual) ? usual : undefined);
  if (path === undefined) return noConfig;
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new AuditError("LAMEDUCK_AUDIT_BAD_CONFIG", path, messageOf(error));
  }
  return readConfig(text, path);
}
