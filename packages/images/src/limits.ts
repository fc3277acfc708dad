import { ImageError } from "./errors.ts";

const mebibyte = 2 ** 20;

/** What no honest image needs, and a bomb has. */
export interface Limits {
  /** Bytes of all files of an image, as they are written; also those of an archive. */
  readonly bytes: number;
  /** Files, folders and links of all layers. */
  readonly entries: number;
  readonly layers: number;
  /** Of a path, as the kernel counts. */
  readonly pathBytes: number;
  /** Folders in folders. */
  readonly depth: number;
  /** How many bytes one compressed byte may become, once there are more than `freeBytes`. Text of layers comes to 10. */
  readonly ratio: number;
  readonly freeBytes: number;
  /** Of one JSON text: index, manifest or configuration. */
  readonly jsonBytes: number;
}

export const usualLimits: Limits = {
  bytes: 8 * 1_024 * mebibyte,
  entries: 1_000_000,
  layers: 500,
  pathBytes: 4_096,
  depth: 128,
  ratio: 200,
  freeBytes: 64 * mebibyte,
  jsonBytes: 4 * mebibyte,
};

export function tooLarge(place: string, problem: string): ImageError {
  return new ImageError("LAMEDUCK_IMAGE_TOO_LARGE", place, problem);
}

export function spellBytes(bytes: number): string {
  return bytes < mebibyte
    ? `${Math.ceil(bytes / 1_024)} KiB`
    : bytes < 1_024 * mebibyte
      ? `${Math.round(bytes / mebibyte)} MiB`
      : `${(bytes / 1_024 / mebibyte).toFixed(1)} GiB`;
}
