/** Something that the image is made of is not on this machine; the message says what to install. */
export class ImageError extends Error {}
