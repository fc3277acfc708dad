import { errorClass, fileProblem } from "@lameduck/drain/common";

/** Why an image cannot be run or read, with what to do about it. */
export const imageErrors = {
  LAMEDUCK_IMAGE_NOT_HERE:
    "pull it first (docker pull, podman pull or nerdctl pull), or give it as a file: --image NAME=FILE; or give a command after --; Lameduck itself pulls nothing",
  LAMEDUCK_IMAGE_UNREADABLE:
    "give an OCI archive or layout, a docker archive (docker save -o image.tar NAME), or the folder of a root file system",
  LAMEDUCK_IMAGE_REFUSED:
    "do not run this image; if you trust it, build it again, or unpack it yourself and give the folder of its root file system",
  LAMEDUCK_IMAGE_TOO_LARGE:
    "unpack it yourself, and give the folder of its root file system: --image NAME=FOLDER",
  LAMEDUCK_IMAGE_OTHER_PLATFORM: "pull or build the image for this machine's processor",
  LAMEDUCK_IMAGE_ENGINE:
    "see what the program says; or save the image yourself, and give the file: --image NAME=FILE",
  LAMEDUCK_IMAGE_NO_PROGRAM: "write the command in the manifest, or after --",
  LAMEDUCK_IMAGE_USER:
    "correct securityContext.runAsUser or runAsNonRoot in the manifest, or USER in the image",
  LAMEDUCK_IMAGE_STOP_SIGNAL: "set a signal with a name, such as SIGQUIT, as STOPSIGNAL of the image",
  LAMEDUCK_IMAGE_CACHE: "set XDG_CACHE_HOME to a folder that you may write to, with enough space",
  LAMEDUCK_IMAGE_NEEDS_NAMESPACES:
    "use Linux as root or with unprivileged user namespaces, such as a virtual machine or a CI runner; or give a command after --; or measure on a cluster: lameduck rollout",
} as const;

export type ImageErrorCode = keyof typeof imageErrors;

/** `code` is stable, `place` is the image or the file, `remedy` says what to do. */
export class ImageError extends errorClass(imageErrors) {}

/** Errors of this machine's file system are no fault of the image. */
export function ofFiles(error: unknown, place: string): unknown {
  const isOurs = error instanceof Error && "syscall" in error;
  return isOurs ? new ImageError("LAMEDUCK_IMAGE_CACHE", place, fileProblem(error)) : error;
}
