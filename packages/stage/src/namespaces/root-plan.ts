import {
  accessSync,
  constants,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
  type Dirent,
} from "node:fs";
import { join } from "node:path";
import { isBelow, mountPoints } from "./mounts.ts";

/** What keeps directories from being layers of an overlay. */
export interface Obstacles {
  /** Whether mounts below a directory do. */
  readonly locked: boolean;
  /** What was tried in vain, as `attempt` writes it. */
  readonly failed: ReadonlySet<string>;
}

/** One path of the new root. `parts`: a layer over a copy of what lies directly in it. */
interface Mounted {
  readonly kind: "layer" | "parts" | "bind";
  readonly path: string;
  /** Where it is mounted before the new root takes the old one's place. */
  readonly target: string;
}

export function attempt({ kind, path }: Pick<Mounted, "kind" | "path">): string {
  return `${kind} ${path}`;
}

/** Of the kernel and its devices: they are no files of which there could be a copy. */
const kernels = ["/proc", "/sys", "/dev"];

/** Bytes of a file beside or at a mount point that is copied; larger ones are shared. */
const copied = 1 << 20;

/**
 * Writes into `folder` how a container's own root is mounted: `directories`, a script, and `mounts`, a table as in /etc/fstab, so that
 * one `mount --all` does it however many there are.
 */
export function planRoot(
  folder: string,
  shadow: string,
  obstacles: Obstacles,
): Pick<Plan, "layers" | "real" | "mounts"> {
  const plan = new Plan(folder, shadow, obstacles);
  plan.place("/");
  plan.write();
  return plan;
}

class Plan {
  layers = 0;
  /** Writable paths where writes are real. */
  readonly real: string[] = [];
  readonly mounts: Mounted[] = [];
  readonly #folder: string;
  readonly #shadow: string;
  readonly #obstacles: Obstacles;
  readonly #points = mountPoints();
  readonly #upperDirectories: { readonly name: string; readonly mode: string; readonly owner: string }[] = [];
  readonly #works: string[] = [];
  readonly #table: string[] = [];
  #copies = 0;

  constructor(folder: string, shadow: string, obstacles: Obstacles) {
    this.#folder = folder;
    this.#shadow = shadow;
    this.#obstacles = obstacles;
  }

  place(path: string): void {
    const below = this.#points.filter((point) => isBelow(point, path));
    const possible = !/[,:"\\]/.test(path) && !(this.#obstacles.locked && below.length > 0);
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) return;
    if (kernels.includes(path)) this.#placeKernels(path);
    else if (!found.isDirectory()) this.#placeFile(path);
    else if (possible && this.#mayBe("layer", path)) {
      this.#layer("layer", path, path);
      // Mounts below another one come with it.
      for (const point of below)
        if (!below.some((other) => isBelow(point, other)) && !kernels.some((one) => isBelow(point, one)))
          this.place(point);
    } else if (below.length === 0 || !this.#takeApart(path)) this.#share(path);
  }

  /** Shared memory is no device: each container has its own, as in Kubernetes. */
  #placeKernels(path: string): void {
    this.#bind(path);
    const shared = join(path, "shm");
    if (path === "/dev" && statSync(shared, { throwIfNoEntry: false })?.isDirectory())
      this.#mount("bind", shared, "shm", "tmpfs", "mode=1777,size=64m,nosuid,nodev,noexec");
  }

  #mayBe(kind: Mounted["kind"], path: string): boolean {
    return !this.#obstacles.failed.has(attempt({ kind, path }));
  }

  write(): void {
    writeFileSync(join(this.#folder, "directories"), `${this.#directories().join("\n")}\n`);
    writeFileSync(join(this.#folder, "mounts"), `${this.#table.join("\n")}\n`);
  }

  /** Few commands for many directories: this is done for each container. */
  #directories(): string[] {
    const modes = Map.groupBy(this.#upperDirectories, ({ mode }) => mode);
    // Only root outside the namespace may change the owner of files, and not to every user.
    const owners = this.#obstacles.locked ? [] : Map.groupBy(this.#upperDirectories, ({ owner }) => owner);
    const names = (of: readonly { readonly name: string }[]): string => of.map(({ name }) => name).join(" ");
    return [
      ["mkdir root", ...this.#works].join(" "),
      ...[...modes].map(([mode, of]) => `mkdir -m ${mode} ${names(of)}`),
      ...[...owners]
        .filter(([owner]) => owner !== "0:0")
        .map(([owner, of]) => `chown ${owner} ${names(of)} 2>/dev/null || true`),
    ];
  }

  /** A layer over a copy of what lies directly in the directory, and each directory in it placed by itself. */
  #takeApart(path: string): boolean {
    if (!this.#mayBe("parts", path)) return false;
    let entries: Dirent[];
    try {
      entries = readdirSync(path, { withFileTypes: true });
    } catch {
      return false;
    }
    const lower = this.#copyName();
    mkdirSync(lower);
    this.#layer("parts", lower, path);
    for (const entry of entries) {
      const [from, to] = [join(path, entry.name), join(lower, entry.name)];
      if (entry.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
      else if (entry.isDirectory()) {
        mkdirSync(to);
        this.place(from);
      } else if (entry.isFile() && !this.#points.includes(from) && isSmall(from)) copyOrNothing(from, to);
      else if (entry.isFile()) {
        writeFileSync(to, "");
        this.#placeFile(from);
      }
      // Sockets and pipes lead to processes that pods are not to reach.
    }
    return true;
  }

  /** A file with a mount of its own, or a large one. */
  #placeFile(path: string): void {
    if (!statSync(path).isFile() || !isSmall(path)) return this.#share(path);
    const copy = this.#copyName();
    copyOrNothing(path, copy);
    this.#bind(path, copy);
  }

  #share(path: string): void {
    if (!this.#mayBe("bind", path)) return;
    this.#bind(path);
    try {
      accessSync(path, constants.W_OK);
      this.real.push(path);
    } catch {
      // The path is read-only.
    }
  }

  #layer(kind: "layer" | "parts", lower: string, path: string): void {
    const number = this.layers++;
    const { mode, uid, gid } = statSync(path);
    const upper = `upper-${number}`;
    this.#upperDirectories.push({ name: upper, mode: (mode & 0o7777).toString(8), owner: `${uid}:${gid}` });
    this.#works.push(`work-${number}`);
    const layers = `lowerdir=${lower},upperdir=${this.#shadow}/${upper},workdir=${this.#shadow}/work-${number}`;
    this.#mount(kind, path, "overlay", "overlay", this.#obstacles.locked ? `${layers},userxattr` : layers);
  }

  #bind(path: string, from = path): void {
    this.#mount("bind", path, from, "none", "rbind");
  }

  #mount(kind: Mounted["kind"], path: string, ...[source, type, options]: string[]): void {
    const target = `${this.#shadow}/root${path === "/" ? "" : path}`;
    this.mounts.push({ kind, path, target });
    this.#table.push(`${[source ?? "", target, type ?? "", options ?? ""].map(octal).join(" ")} 0 0`);
  }

  #copyName(): string {
    return join(this.#folder, `copy-${this.#copies++}`);
  }
}

function isSmall(path: string): boolean {
  return lstatSync(path).size <= copied;
}

/** What the user may not read is empty to him. */
function copyOrNothing(from: string, to: string): void {
  try {
    copyFileSync(from, to);
  } catch {
    writeFileSync(to, "", { mode: 0 });
  }
}

/** As /etc/fstab wants it. */
function octal(field: string): string {
  return field.replaceAll(
    /[\s\\]/g,
    (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
}
