import type { ImageBlock } from "./message.ts";

/** What the strictest provider takes: bytes of base64, and pixels of a side. */
const MAX_BASE64 = 5 * 1024 * 1024;
const MAX_SIDE = 8000;

/** What stands before the base64 where somebody gave a whole data URL. */
const URL_HEAD = /^data:[^,]{0,100},/;

/** Why an image must not be sent, or the image with the type that its bytes say. */
export function checkedImage(given: ImageBlock): ImageBlock | string {
  const image = URL_HEAD.test(given.data) ? { ...given, data: given.data.replace(URL_HEAD, "") } : given;
  if (image.data.length > MAX_BASE64) return `it is too big (${(image.data.length / 1024 / 1024).toFixed(1)} MB in base64, at most 5 MB)`;
  const head = Buffer.from(image.data.slice(0, 64), "base64");
  const mimeType = imageTypeOf(head);
  if (!mimeType) return "its bytes are no PNG, JPEG, GIF or WebP";
  const side = mimeType === "image/png" && head.length >= 24 ? Math.max(head.readUInt32BE(16), head.readUInt32BE(20)) : 0;
  if (side > MAX_SIDE) return `it is too large (${side} pixels, at most ${MAX_SIDE} a side)`;
  return mimeType === image.mimeType ? image : { ...image, mimeType };
}

/** The types that every provider takes. */
export type ImageType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

/** The type of an image by its first bytes (12 are enough): a name is no proof. */
export function imageTypeOf(bytes: Uint8Array): ImageType | undefined {
  const text = String.fromCharCode(...bytes.subarray(0, 12));
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (text.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (text.startsWith("GIF87a") || text.startsWith("GIF89a")) return "image/gif";
  if (text.startsWith("RIFF") && text.startsWith("WEBP", 8)) return "image/webp";
  return undefined;
}
