export { ImageError, imageErrors, type ImageErrorCode } from "./errors.ts";
export { findIn, hasProgram } from "./in-root.ts";
export { spellBytes } from "./limits.ts";
export { LocalImages, type LocalImage } from "./local-images.ts";
export { exposedPort, type FindImage, withImages } from "./merge.ts";
export { parseImage } from "./source.ts";
export { ImageStore, mostStoredBytes, removeAll } from "./store.ts";
