/** What installs, judges and cleans up after the webhook; ./command is the program. */
export { mutatingConfiguration, validatingConfiguration } from "./admission/configurations.ts";
export { mountsInitVolume } from "./init-volume/copier.ts";
export { initVolumeFiles, InitVolumeSource, initVolumeSumAnnotation } from "./init-volume/files.ts";
export { architecturesOf } from "./cluster-view.ts";
export { heldDeletionsConfiguration, surgeConfiguration } from "./deletions/configuration.ts";
export { restoreAll } from "./deletions/restorer.ts";
