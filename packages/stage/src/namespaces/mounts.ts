import { readFileSync } from "node:fs";

/**
 * A function that makes the root planned in $LAMEDUCK_STAGE_ROOT (root-plan.ts) this process's own. Until it is taken away, the machine's own root is
 * at $old. A file system that has left the machine since the plan was made is left out: disks are taken out, and container engines unmount what has
 * ended.
 */
export const ownRootScript = `
stage=$LAMEDUCK_STAGE_SHADOW
# mount(8) goes on after what it could not mount. What is still there and not mounted is a failure.
mount_all() {
  said=$(mount -n -a -T "$1" 2>&1) && return
  mounted=" $(cut -d" " -f5 /proc/self/mountinfo | tr "\\n" " ")"
  while read -r source target rest; do
    case $mounted in *" $target "*) continue ;; esac
    path=$(printf %s "\${target#"$stage/root"}" | sed 's/\\\\/\\\\0/g')
    if [ -e "$(printf %b "\${path:-/}")" ]; then printf "%s\\n" "$said" >&2; return 1; fi
  done < "$1"
}
own_root() {
  mount -n -t tmpfs -o mode=755 tmpfs "$stage" &&
  cd "$stage" &&
  . "$LAMEDUCK_STAGE_ROOT/directories" &&
  mount_all "$LAMEDUCK_STAGE_ROOT/mounts" &&
  cd root &&
  mkdir .lameduck &&
  pivot_root . .lameduck &&
  cd / &&
  old=/.lameduck
}`;

/**
 * Takes a root of its own where there is a plan for one, binds the pod's volumes, then becomes the container. The shell is replaced, so PID 1 is the
 * command itself.
 * Arguments: for each volume how a missing mount path is made (`mkdir -p` or `provide`, `make_file` or `provide_file`), the volume and the mount
 * path; `--`, the command.
 * Where files are this machine's own, the path is made in a copy of its parent that only this container sees (`provide`). Nothing is ever created
 * outside of it.
 */
export const containerScript = `
set -e
${ownRootScript}
old=
[ -z "$LAMEDUCK_STAGE_ROOT" ] || own_root

# The directory $1 again, on a file system of its own in which entries can be added: everything in it is the old one's.
shadow() {
  mount -n -t tmpfs -o mode=755 tmpfs "$stage"
  for entry in "$1"/* "$1"/.[!.]*; do
    copy="$stage/\${entry##*/}"
    if [ -L "$entry" ]; then cp -P "$entry" "$copy"
    elif [ -d "$entry" ]; then mkdir "$copy"; mount -n --rbind "$entry" "$copy"
    elif [ -e "$entry" ]; then : > "$copy"; mount -n --bind "$entry" "$copy"
    fi
  done
  if [ "$1" != / ]; then mount -n --move "$stage" "$1"; return; fi
  cd "$stage"
  # The new root over the old one, and then the old one taken away from under it, as container runtimes do.
  pivot_root . .
  umount -n -l .
  cd /
}

# What was made here, each between colons.
own=:
# The directory $1, in a parent that is this container's own.
provide() {
  if [ -d "$1" ]; then
    case $own in *":$1:"*) ;; *) shadow "$1"; own="$own$1:";; esac
    return
  fi
  provide_parent "$1"
  mkdir "$1"
  own="$own$1:"
}
provide_parent() {
  case \${1%/*} in "") provide / ;; *) provide "\${1%/*}" ;; esac
}
provide_file() {
  provide_parent "$1"
  : > "$1"
}
make_file() {
  mkdir -p "\${1%/*}"
  : > "$1"
}

while [ "$1" != -- ]; do
  [ -e "$3" ] || $1 "$3"
  mount -n --rbind "$old$2" "$3"
  own="$own$3:"
  shift 3
done
shift
if [ -n "$old" ]; then umount -n -l "$old"; rmdir "$old"; fi
cd "$LAMEDUCK_STAGE_DIRECTORY"
unset LAMEDUCK_STAGE_DIRECTORY LAMEDUCK_STAGE_SHADOW LAMEDUCK_STAGE_ROOT
exec "$@"
`;

/** Runs a command in the directory named first. The path is resolved inside the container's namespace. */
export const besideScript = `cd "$1" && shift && exec "$@"`;

/** Every mount point that this process sees, parents before what is mounted in them. */
export function mountPoints(): string[] {
  const points = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .flatMap((line) => line.split(" ")[4] ?? [])
    // Spaces and the like are octal there (seq_path in the kernel).
    .map((point) =>
      point.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8))),
    );
  return [...new Set(points)].sort((a, b) => a.length - b.length);
}

/** Whether `path` lies in `directory`, which it is not itself. */
export function isBelow(path: string, directory: string): boolean {
  return path !== directory && path.startsWith(directory === "/" ? "/" : `${directory}/`);
}
