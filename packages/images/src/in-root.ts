import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  type Stats,
} from "node:fs";
import { join } from "node:path";

/** As in the kernel. */
const mostLinks = 40;

/** What a path of a root file system leads to. */
export interface Found {
  /** Without links: below the root, with a slash before it. "/" is the root itself. */
  readonly path: string;
  readonly exists: boolean;
  /** A link on the way climbs above the root. The kernel stops there, as if the root were all there is. */
  readonly climbs: boolean;
}

/**
 * Follows a path as a process would for which `root` is the root. Nothing outside of it is ever looked at. Whatever writes there
 * meanwhile could lead it astray, so nothing may.
 * @param last - whether a link at the end is followed, too.
 * @returns undefined for a circle of links.
 */
export function findIn(root: string, path: string, { last = true } = {}): Found | undefined {
  const todo = path.split("/");
  let at: string[] = [];
  let links = 0;
  let climbs = false;
  let exists = true;
  while (todo.length > 0) {
    const name = todo.shift()!;
    if (name === "" || name === ".") continue;
    if (name === "..") {
      if (at.length === 0) climbs = true;
      at.pop();
      continue;
    }
    const stat: Stats | undefined = exists ? lookedAt(join(root, ...at, name)) : undefined;
    if (stat?.isSymbolicLink() && (last || todo.some((one) => one !== "" && one !== "."))) {
      if (++links > mostLinks) return undefined;
      const target = readlinkSync(join(root, ...at, name));
      if (target.startsWith("/")) at = [];
      todo.unshift(...target.split("/"));
      continue;
    }
    exists = stat !== undefined;
    at.push(name);
    // What does not exist leads nowhere: `..` behind it is taken as it stands.
  }
  return { path: `/${at.join("/")}`, exists, climbs };
}

/** What is at a path, a link itself; undefined where nothing is, also below what is no folder, and where nothing can be. */
export function lookedAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (/^(?:ENOTDIR|ENAMETOOLONG)$/.test(String((error as NodeJS.ErrnoException).code))) return undefined;
    throw error;
  }
}

/** The text of a small file in a root file system; "" where there is none. */
export function textIn(root: string, path: string, mostBytes = 1 << 20): string {
  const found = findIn(root, path);
  if (!found?.exists) return "";
  try {
    const file = openSync(
      join(root, found.path),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
    try {
      const { size } = fstatSync(file);
      return fstatSync(file).isFile() && size <= mostBytes ? readFileSync(file, "utf8") : "";
    } finally {
      closeSync(file);
    }
  } catch {
    return "";
  }
}

export const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Whether a program is in a root file system, by the rules of execvp. */
export function hasProgram(root: string, name: string, searched = usualPath, directory = "/"): boolean {
  const candidates = name.includes("/")
    ? [name.startsWith("/") ? name : `${directory}/${name}`]
    : searched.split(":").map((folder) => `${folder || directory}/${name}`);
  return candidates.some((candidate) => {
    const found = findIn(root, candidate);
    if (!found?.exists) return false;
    try {
      const stat = lstatSync(join(root, found.path));
      // Whoever runs the lab need not be who runs the container: any x counts.
      return stat.isFile() && ((stat.mode & 0o111) !== 0 || isExecutable(join(root, found.path)));
    } catch {
      return false;
    }
  });
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
