import { sizeWords } from "../base/text.ts";
import { type ImageType, imageTypeOf } from "../llm/image.ts";
import { ToolFailure, type ToolResult } from "./tool.ts";

type FileType = ImageType | "image/bmp";

/** What providers take without shrinking or refusing it themselves. */
const MAX_SIDE = 2_000;
/** Many clients cap a record at 1 MiB: one that holds an image stays below. */
const MAX_BASE64_BYTES = 1_000_000;
/** Of the file; more is not worth the memory. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** Decoded, a pixel is four bytes. */
const MAX_PIXELS = 64_000_000;

/** The type of an image file by its first bytes (32 are enough). */
export function sniffImage(bytes: Uint8Array): FileType | undefined {
  // "BM" alone begins many a text: the two reserved words and the size of the header are part of the proof.
  const isBitmap = bytes.length >= 18 && bytes[0] === 0x42 && bytes[1] === 0x4d && bytes.subarray(6, 10).every((byte) => byte === 0) && bytes[15] === 0 && bytes[16] === 0;
  return isBitmap ? "image/bmp" : imageTypeOf(bytes);
}

/**
 * An image as a block that every provider takes: its own bytes when they are within the limits and can be
 * decoded (a broken image would be refused with every later request of the session), else a smaller copy,
 * else words.
 */
export async function readImage(file: { load(): Promise<Uint8Array>; size: number; type: FileType; shown: string }): Promise<ToolResult> {
  const { type, shown } = file;
  if (file.size > MAX_FILE_BYTES) throw new ToolFailure(`${shown} is an image of ${sizeWords(file.size)}, too large to show. Make a smaller copy with bash and read that.`);
  const bytes = await file.load();
  const open = () => new Bun.Image(bytes, { maxPixels: MAX_PIXELS });
  const size = await decoding(shown, type, () => open().metadata());
  const base64Bytes = Math.ceil(bytes.length / 3) * 4;
  if (type !== "image/bmp" && size.width <= MAX_SIDE && size.height <= MAX_SIDE && base64Bytes <= MAX_BASE64_BYTES) {
    await decoding(shown, type, () => open().resize(8, 8).png().bytes());
    return block(bytes, type, `[${shown}: ${type}, ${size.width}x${size.height}]`);
  }
  const copy = await decoding(shown, type, () => shrink(open, size, type));
  if (!copy) throw new ToolFailure(`${shown} (${size.width}x${size.height}) stays too large to show however it is shrunk. Cut out the part that matters with bash and read that.`);
  const scale = size.width / copy.width;
  const hint = scale > 1.001 ? `; coordinates in it times ${scale.toFixed(2)} are those of the file` : "";
  return block(copy.bytes, copy.type, `[${shown}: ${type}, ${size.width}x${size.height}, shown as ${copy.type} of ${copy.width}x${copy.height}${hint}]`);
}

interface Copy {
  bytes: Uint8Array;
  type: "image/png" | "image/jpeg";
  width: number;
  height: number;
}

/** Tries a like encoding first (sharp lines, transparency), then JPEG, then fewer pixels. */
async function shrink(open: () => Bun.Image, size: { width: number; height: number }, type: FileType): Promise<Copy | undefined> {
  for (let side = MAX_SIDE; side >= 250; side = Math.floor(side * 0.75)) {
    const scale = Math.min(1, side / Math.max(size.width, size.height));
    const width = Math.max(1, Math.round(size.width * scale));
    const height = Math.max(1, Math.round(size.height * scale));
    for (const quality of type === "image/jpeg" || side < MAX_SIDE ? [85, 60] : [undefined, 85, 60]) {
      const image = open().resize(width, height);
      const bytes = await (quality === undefined ? image.png() : image.jpeg({ quality })).bytes();
      if (Math.ceil(bytes.length / 3) * 4 <= MAX_BASE64_BYTES) return { bytes, type: quality === undefined ? "image/png" : "image/jpeg", width, height };
    }
  }
  return undefined;
}

async function decoding<T>(shown: string, type: FileType, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ERR_IMAGE_TOO_MANY_PIXELS") {
      throw new ToolFailure(`${shown} has more than ${MAX_PIXELS / 1e6} million pixels, too many to show. Make a smaller copy with bash (e.g. with ImageMagick) and read that.`);
    }
    if (code?.startsWith("ERR_IMAGE_")) throw new ToolFailure(`${shown} begins like ${type} but cannot be decoded (${message}); it is broken or cut off. Look at its bytes with bash, e.g. file or xxd | head.`);
    throw error;
  }
}

function block(bytes: Uint8Array, mimeType: string, note: string): ToolResult {
  return {
    content: [
      { type: "text", text: note },
      { type: "image", data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"), mimeType },
    ],
  };
}
