export { writeArchive, type PlatformImage } from "./oci/archive.ts";
export type { Layer, LayerFile } from "./oci/layer.ts";
export { ImageError } from "./errors.ts";
export { places, writeFiles, writeOperatorImage, type WrittenImage } from "./image.ts";
