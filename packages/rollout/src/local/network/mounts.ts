/**
 * Binds the pod's volumes, then becomes the container: the shell is replaced, so PID 1 is the command itself.
 * Arguments: pairs of volume and mount path, `--`, the command. A mount path that this machine has not got is made in a copy of its
 * parent that only this container sees; nothing is ever created outside of it.
 */
export const containerScript = `
set -e

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
  case \${1%/*} in "") provide / ;; *) provide "\${1%/*}" ;; esac
  mkdir "$1"
  own="$own$1:"
}

stage=$LAMEDUCK_STAGE_SHADOW
while [ "$1" != -- ]; do
  [ -d "$2" ] || provide "$2"
  mount -n --bind "$1" "$2"
  own="$own$2:"
  shift 2
done
shift
cd "$LAMEDUCK_STAGE_DIRECTORY"
unset LAMEDUCK_STAGE_DIRECTORY LAMEDUCK_STAGE_SHADOW
exec "$@"
`;

/** Runs a command in the directory named first: as the container sees it, which only its own namespace can tell. */
export const besideScript = `cd "$1" && shift && exec "$@"`;
