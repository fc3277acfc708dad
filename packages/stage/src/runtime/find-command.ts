import { accessSync, constants, statSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";

/** The file that `name` stands for, by the rules of execvp; undefined when there is none that can be executed. */
export function findCommand(name: string, path: string, directory: string): string | undefined {
  if (name.includes("/")) return executable(isAbsolute(name) ? name : resolve(directory, name));
  for (const folder of path.split(":")) {
    const found = executable(join(folder || directory, name));
    if (found) return found;
  }
  return undefined;
}

function executable(file: string): string | undefined {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile() ? file : undefined;
  } catch {
    return undefined;
  }
}
