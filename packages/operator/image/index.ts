export { writeArchive, type PlatformImage } from "./oci/archive.ts";
export type { Layer, LayerFile } from "./oci/layer.ts";
export { places, writeFiles, writeOperatorImage } from "./image.ts";
