// A model behind OpenAI's chat completions that costs next to nothing itself. A process of its own, as a real one would be.

/** Starts the server; gives its address without a path. */
export async function startModelServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const child = Bun.spawn([process.execPath, import.meta.path], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  if (!value) throw new Error("the bench's model server did not start");
  return {
    url: new TextDecoder().decode(value).trim(),
    stop: async () => {
      child.kill();
      await child.exited;
    },
  };
}

const DELTA = "0123456789";

/** A conversation in which `DELTAS n` was said is answered with n deltas, any other with one. */
function answer(body: string): ReadableStream<Uint8Array> {
  const asked = body.lastIndexOf("DELTAS ");
  const count = asked < 0 ? 1 : Number.parseInt(body.slice(asked + "DELTAS ".length, asked + 20), 10);
  const encoder = new TextEncoder();
  const frame = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "bench-1", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const batch = encoder.encode(frame({ content: DELTA }, null).repeat(500));
  const usage = `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "bench-1", choices: [], usage: { prompt_tokens: 10, completion_tokens: count, total_tokens: 10 + count } })}\n\n`;
  const tail = encoder.encode(`${frame({}, "stop")}${usage}data: [DONE]\n\n`);
  let left = count;
  return new ReadableStream({
    pull(controller) {
      if (left >= 500) controller.enqueue(batch);
      else {
        if (left > 0) controller.enqueue(encoder.encode(frame({ content: DELTA }, null).repeat(left)));
        controller.enqueue(tail);
        controller.close();
      }
      left -= 500;
    },
  });
}

if (import.meta.main) {
  let last = "";
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      // The last request as it came, to be sent again without rpi.
      if (new URL(request.url).pathname === "/last") return new Response(last);
      last = await request.text();
      return new Response(answer(last), { headers: { "content-type": "text/event-stream" } });
    },
  });
  await Bun.write(Bun.stdout, `http://127.0.0.1:${server.port}\n`);
}
