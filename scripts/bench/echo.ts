export {};

// The least that a compiled Bun program can do with a line: give it back.
const writer = Bun.stdout.writer();
for await (const chunk of Bun.stdin.stream()) {
  writer.write(chunk);
  await writer.flush();
}
