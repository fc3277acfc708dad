import { join } from "node:path";
import { findIn } from "@lameduck/images";
import { StageError } from "../errors.ts";
import type { Bind, Launch, LaunchRoot } from "../network/network.ts";
import { words } from "../network/run.ts";
import { findCommand } from "../runtime/find-command.ts";
import { toolsInRoot, type ImageTools } from "./image-tools.ts";
import type { Fabric } from "./privileges.ts";

/**
 * Makes the root file system of an image the container's own, then becomes the container. The image's files are the lower layer of an
 * overlay and never change. What it finds of this machine is bound to paths that have no link on the way: they were followed before, in the
 * image (`findIn`). All of it is done by programs of this machine, which the image's root does not have. So that root is not pivoted into,
 * but moved over the old one. Nothing leads back to the old one.
 * Arguments: for each mount `folder` or `file`, `copy` or `share`, what is mounted and its path in the root; `--`, the command.
 */
const imageScript = `
set -e
stage=$LAMEDUCK_STAGE_SHADOW
mount -n -t tmpfs -o mode=755 tmpfs "$stage"
cd "$stage"
mkdir lower upper work root
mount -n --bind "$LAMEDUCK_STAGE_ROOT" lower
# The root's own permissions are those of the upper layer.
chmod $(stat -c %a lower) upper
chown $(stat -c %u:%g lower) upper 2>/dev/null || true
mount -n -t overlay -o "nodev,nosuid$LAMEDUCK_STAGE_LAYER,lowerdir=lower,upperdir=upper,workdir=work" overlay root
# Before anything is mounted, so that nothing is made in what is.
points() {
  while [ "$1" != -- ]; do
    if [ $1 = folder ]; then mkdir -p "root$4"
    else mkdir -p "root\${4%/*}"; [ -e "root$4" ] || : > "root$4"
    fi
    shift 4
  done
}
points "$@"
mkdir -p root/proc root/dev root/sys "root$LAMEDUCK_STAGE_DIRECTORY"
mount -n --bind /proc root/proc
for one in sys sysrq-trigger irq bus fs; do
  if [ -e root/proc/$one ]; then
    mount -n --bind root/proc/$one root/proc/$one
    mount -n -o remount,bind,ro root/proc/$one
  fi
done
for one in kcore keys timer_list sched_debug latency_stats; do
  [ ! -e root/proc/$one ] || mount -n --bind /dev/null root/proc/$one
done
mount -n -t sysfs -o ro,nosuid,nodev,noexec sysfs root/sys 2>/dev/null || true
mount -n -t tmpfs -o mode=755,nosuid,noexec,size=64k tmpfs root/dev
mkdir root/dev/shm root/dev/pts "root$LAMEDUCK_STAGE_TOOLS_IN"
cp -R "$LAMEDUCK_STAGE_TOOLS" tools
mount -n --bind tools "root$LAMEDUCK_STAGE_TOOLS_IN"
mount -n -o remount,bind,ro "root$LAMEDUCK_STAGE_TOOLS_IN"
for one in null zero full random urandom tty; do : > root/dev/$one; mount -n --bind /dev/$one root/dev/$one; done
mount -n -t tmpfs -o mode=1777,nosuid,nodev,noexec,size=64m tmpfs root/dev/shm
mount -n -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts root/dev/pts 2>/dev/null || true
ln -s pts/ptmx root/dev/ptmx
ln -s /proc/self/fd root/dev/fd
ln -s /proc/self/fd/0 root/dev/stdin
ln -s /proc/self/fd/1 root/dev/stdout
ln -s /proc/self/fd/2 root/dev/stderr
[ -z "$LAMEDUCK_STAGE_READ_ONLY" ] || mount -n -o remount,bind,ro,nodev,nosuid root
# Another container may put a link on the way at any moment. So each mount is made in a namespace of its own, which ends with it. Only what is
# mounted in the root comes back from there, for only the root is shared.
mount -n --make-rshared root
while [ "$1" != -- ]; do
  from=$3
  if [ $2 = copy ]; then
    # The container changes neither this machine's files nor what another container is to get.
    from=$stage/copy-$#
    cp -RL --preserve=mode "$3" "$from"
    mount -n --bind "$from" "$from"
    mount -n -o remount,bind,ro "$from"
  fi
  unshare --mount --propagation unchanged mount -n --rbind "$from" "root$4"
  if ! [ "root$4" -ef "$from" ]; then echo "nothing can be mounted at $4: a link leads away from it" >&2; exit 1; fi
  shift 4
done
shift
mount -n --make-rprivate root
if [ -n "$LAMEDUCK_STAGE_USER" ]; then
  # Bound to a file: once the roots are moved, no user namespace can be made.
  : > user
  unshare --user=user --mount --propagation unchanged --map-user=\${LAMEDUCK_STAGE_USER%:*} --map-group=\${LAMEDUCK_STAGE_USER#*:} -- true
fi
# A program of the image may make a user namespace. In it /proc and /sys can be mounted anew as long as they are mounted here as a whole, and
# as root the program could change the machine by them. So only what is left of them in the root stays mounted.
if [ -z "$LAMEDUCK_STAGE_USER" ]; then
  tac /proc/self/mountinfo > mounts
  while read -r _ _ _ _ point rest; do
    case "$point $rest" in
      "$stage"/*) ;;
      *" - proc "* | *" - sysfs "*) umount -n -l "$(printf %b "$point")" ;;
    esac
  done < mounts
fi
cd root
mount -n --move . /
exec "$@"
`;

/** What container runtimes leave to root, without the making of devices. */
const usualCapabilities: readonly string[] =
  "CHOWN DAC_OVERRIDE FSETID FOWNER NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE".split(
    " ",
  );

/** Entering the root and becoming the user takes the first two. Giving them up there takes the last. */
const needed = ["SYS_CHROOT", "SETUID", "SETPCAP"];

interface ImageRootOptions {
  readonly fabric: Exclude<Fabric, { kind: "none" }>;
  /** An empty directory, over which each container mounts what only it sees. */
  readonly shadow: string;
  /** Enters the pod's namespaces. */
  readonly enter: readonly string[];
  readonly tools: ImageTools;
}

/** How to start a container on the root of an image. */
export function launchOnImage(
  launch: Launch,
  root: LaunchRoot,
  binds: readonly Bind[],
  { fabric, shadow, enter, tools }: ImageRootOptions,
): Launch {
  const directory = pathIn(root, launch.directory);
  const mounts = binds.flatMap(({ from, to, isFile, isReadOnly }) => [
    isFile ? "file" : "folder",
    isReadOnly ? "copy" : "share",
    from,
    pathIn(root, to),
  ]);
  const inside =
    fabric.kind === "root"
      ? asUser(root, directory)
      : [
          tool("nsenter"),
          `--user=${join(shadow, "user")}`,
          "--preserve-credentials",
          "--root=.",
          "--wd=.",
          "--",
        ];
  const unshare = words("unshare --pid --mount --fork --kill-child --mount-proc --");
  return {
    command: [
      ...enter,
      ...unshare,
      "sh",
      "-c",
      imageScript,
      "container",
      ...mounts,
      "--",
      ...inside,
      ...inRoot(launch, root, { directory, fabric, tools }),
    ],
    env: {
      PATH: machinePath(),
      LAMEDUCK_STAGE_SHADOW: shadow,
      LAMEDUCK_STAGE_ROOT: root.path,
      LAMEDUCK_STAGE_DIRECTORY: directory,
      LAMEDUCK_STAGE_LAYER: fabric.kind === "user" ? ",userxattr" : "",
      LAMEDUCK_STAGE_READ_ONLY: root.isReadOnly ? "1" : "",
      LAMEDUCK_STAGE_USER: fabric.kind === "user" ? playedUser(root, fabric) : "",
      LAMEDUCK_STAGE_TOOLS: tools.folder,
      LAMEDUCK_STAGE_TOOLS_IN: toolsInRoot,
    },
    directory: "/",
  };
}

/** A container that runs. */
export interface RunningContainer {
  readonly pid: number;
  /** The `unshare` that has started it: in its mount namespace, on the root below its own. */
  readonly parent: number;
}

/**
 * How to run a command in a container on the root of an image: in all namespaces of the container, as its user, and in the directory that
 * it began in. As root it begins in this machine's root, where `setpriv` and `unshare` are.
 */
export function besideOnImage(
  { pid, parent }: RunningContainer,
  launch: Launch,
  root: LaunchRoot,
  { fabric, tools }: Pick<ImageRootOptions, "fabric" | "tools">,
): Launch {
  const directory = pathIn(root, launch.directory);
  const namespaces = `--target ${pid} --net --uts --ipc --pid --mount`;
  const enter =
    fabric.kind === "root"
      ? [`--root=/proc/${parent}/root`, `--wd=/proc/${pid}/root`, "--", ...asUser(root, directory)]
      : [...words("--user --preserve-credentials --root"), `--wd=/proc/${pid}/root`, "--"];
  const inside = inRoot(launch, root, { directory, fabric, tools });
  return {
    command: [tool("nsenter"), ...words(namespaces), ...enter, ...inside],
    env: { PATH: machinePath() },
    directory: "/",
    root,
  };
}

/**
 * Becomes the user in the root, which is the working directory, with rights that fit. Until it is there its real user is another one. So no
 * program of the container can look at it and reach the root that it comes from.
 */
function asUser(root: LaunchRoot, directory: string): string[] {
  const { user, group, groups } = root;
  const kept = usualCapabilities.filter((one) => !isDropped(one, root));
  const bounds = [...new Set([...kept, ...needed])].map((one) => `,+${one.toLowerCase()}`);
  const others = groups.length === 0 ? "--clear-groups" : `--groups ${groups.join(",")}`;
  return [
    tool("setpriv"),
    ...words(`--inh-caps -all --bounding-set -all${bounds.join("")} --regid ${group} ${others}`),
    ...words(`--ruid ${nobodysUser}`),
    tool("unshare"),
    "--root=.",
    `--wd=${directory}`,
    "--setuid",
    String(user),
    "--",
  ];
}

function isDropped(capability: string, { droppedCapabilities: dropped }: LaunchRoot): boolean {
  return dropped.includes("ALL") || dropped.includes(capability);
}

/** Known in every user namespace that is made for containers. */
const nobodysUser = 65_534;

/**
 * What is run in the root. Only there may a program of this machine meet the image's variables. Each program obeys LD_PRELOAD, which could
 * name a file of the image while this machine's files are still in reach. Only there may a path of the container be followed, too: a part
 * of it may have become a link. `nsenter` follows its `--wd` in the root that `nsenter` comes from.
 */
function inRoot(
  { env, command }: Launch,
  root: LaunchRoot,
  { directory, fabric, tools }: Pick<ImageRootOptions, "fabric" | "tools"> & { readonly directory: string },
): string[] {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  // Of another user the kernel has taken all capabilities by now, and in a user namespace there were none.
  const lent = fabric.kind === "root" && root.user === 0 ? needed.filter((one) => isDropped(one, root)) : [];
  const rights = [
    ...(root.noNewPrivileges ? ["--no-new-privs"] : []),
    ...(lent.length > 0 ? ["--bounding-set", lent.map((one) => `-${one.toLowerCase()}`).join(",")] : []),
  ];
  return [
    ...(rights.length > 0 ? [...tools.command("setpriv"), ...rights] : []),
    ...tools.command("env"),
    "-i",
    // As root the directory was entered before rights were given up, as container runtimes do.
    ...(fabric.kind === "user" ? [`--chdir=${directory}`] : []),
    "--",
    ...variables,
    ...command,
  ];
}

/**
 * In a user namespace of one user everything belongs to that user, whatever its number. A program that finds itself root there and
 * changes its user (nginx) would fail: root is played by the user who runs the lab.
 */
function playedUser({ user, group }: LaunchRoot, { uid, gid }: Extract<Fabric, { kind: "user" }>): string {
  return user === 0 ? `${uid}:${gid}` : `${user}:${group}`;
}

function pathIn(root: LaunchRoot, path: string): string {
  const found = findIn(root.path, path);
  if (found) return found.path;
  throw new StageError("LAMEDUCK_NO_SUCH_COMMAND", path, "links of the image lead in a circle there");
}

/** By its own path: the path that is searched later is the image's. */
function tool(name: string): string {
  return findCommand(name, machinePath(), "/") ?? name;
}

function machinePath(): string {
  return process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin";
}
