import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { read } from "../../src/tools/read.ts";
import { sniffImage } from "../../src/tools/read-image.ts";
import { Random } from "../support/random.ts";
import { call, inFolder } from "./calling.ts";

const DOT = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

const bytesOf = (seed: number, length: number) => {
  const random = new Random(seed);
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let at = 0; at < words.length; at++) words[at] = random.next() * 2 ** 32;
  return Buffer.from(words.buffer, 0, length);
};

const scaled = (width: number, height: number) => new Bun.Image(DOT).resize(width, height);

async function reading(bytes: Uint8Array | string, name = "picture.png") {
  return inFolder(async (cwd) => {
    writeFileSync(join(cwd, name), bytes);
    return call(read, { path: name }, { cwd });
  });
}

/** An image that no encoding makes small. */
async function noise(side: number): Promise<Uint8Array> {
  const row = Math.ceil((side * 3) / 4) * 4;
  const bmp = Buffer.alloc(54 + row * side);
  bmp.write("BM");
  bmp.writeUInt32LE(bmp.length, 2);
  bmp.writeUInt32LE(54, 10);
  bmp.writeUInt32LE(40, 14);
  bmp.writeInt32LE(side, 18);
  bmp.writeInt32LE(side, 22);
  bmp.writeUInt16LE(1, 26);
  bmp.writeUInt16LE(24, 28);
  bytesOf(1, row * side).copy(bmp, 54);
  return bmp;
}

test("an image within the limits is shown with its own bytes, whatever its name", async () => {
  for (const [bytes, mimeType] of [
    [DOT, "image/png"],
    [GIF, "image/gif"],
    [await scaled(30, 20).jpeg().bytes(), "image/jpeg"],
    [await scaled(30, 20).webp().bytes(), "image/webp"],
  ] as const) {
    const { content, isError } = await reading(bytes, "picture.dat");
    expect(isError).toBeUndefined();
    expect(content[1]).toEqual({ type: "image", data: Buffer.from(bytes).toString("base64"), mimeType });
    expect(content[0]).toEqual({ type: "text", text: `[picture.dat: ${mimeType}, ${bytes.length > 100 ? "30x20" : "1x1"}]` });
  }
});

test("a large image is shown smaller, and how much is told", async () => {
  const { content, text } = await reading(await scaled(2500, 500).png().bytes());
  expect(text).toBe("[picture.png: image/png, 2500x500, shown as image/png of 2000x400; coordinates in it times 1.25 are those of the file]");
  const image = content[1] as { data: string; mimeType: string };
  expect(image.mimeType).toBe("image/png");
  expect(await new Bun.Image(Buffer.from(image.data, "base64")).metadata()).toEqual({ width: 2000, height: 400, format: "png" });
});

test("an image with too many bytes is encoded anew until it fits", async () => {
  const png = await new Bun.Image(await noise(1200)).png().bytes();
  expect(png.length).toBeGreaterThan(4e6);
  const { content, text } = await reading(png);
  const image = content[1] as { data: string; mimeType: string };
  expect(image.mimeType).toBe("image/jpeg");
  expect(image.data.length).toBeLessThanOrEqual(1_000_000);
  expect(text).toBe("[picture.png: image/png, 1200x1200, shown as image/jpeg of 1200x1200]");
});

test("a BMP is shown as PNG", async () => {
  const { content } = await reading(await noise(20), "old.bmp");
  expect(content[1]).toMatchObject({ type: "image", mimeType: "image/png" });
});

test("what only claims to be an image is text, or told to be broken", async () => {
  expect((await reading("<html><body>no image</body></html>")).content).toEqual([{ type: "text", text: "<html><body>no image</body></html>" }]);
  expect((await reading("<svg xmlns='http://www.w3.org/2000/svg'/>", "a.svg")).text).toStartWith("<svg");
  const broken = await reading(Buffer.concat([DOT.subarray(0, 8), bytesOf(2, 500)]));
  expect(broken.isError).toBe(true);
  expect(broken.text).toStartWith("picture.png begins like image/png but cannot be decoded");
  const whole = await scaled(300, 300).png().bytes();
  expect(await reading(whole.subarray(0, whole.length >> 1))).toMatchObject({ isError: true, content: [{ type: "text" }] });
  expect((await reading("BM is how this text begins")).text).toBe("BM is how this text begins");
});

test("an image with too many pixels is refused before it is decoded", async () => {
  const bomb = Buffer.from(await scaled(100, 100).png().bytes());
  bomb.writeUInt32BE(12_000, 16);
  bomb.writeUInt32BE(12_000, 20);
  expect(await reading(bomb)).toMatchObject({ isError: true, text: "picture.png has more than 64 million pixels, too many to show. Make a smaller copy with bash (e.g. with ImageMagick) and read that." });
});

test("kinds are told by the first bytes, and short files have none", () => {
  expect([DOT, GIF, Buffer.from("RIFF1234WEBPVP8 "), Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.from("%PDF-1.7"), Buffer.alloc(0), DOT.subarray(0, 7)].map(sniffImage)).toEqual([
    "image/png",
    "image/gif",
    "image/webp",
    "image/jpeg",
    undefined,
    undefined,
    undefined,
  ]);
});
