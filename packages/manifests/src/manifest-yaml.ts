import { stringify } from "yaml";

/**
 * An object as YAML for kubectl and Helm. They read YAML 1.1, in which a bare yes, no, on or off is a boolean: such texts are quoted.
 */
export function manifestYaml(value: unknown): string {
  return stringify(value, { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false });
}
