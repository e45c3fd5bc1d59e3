import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { VERSION } from "../../src/base/version.ts";
import pkg from "../../package.json";
import { binary, type Rpi, start, type StartOptions } from "../support/rpi.ts";
import { Sandbox } from "../support/sandbox.ts";

/** An rpi that must end by itself. */
async function refusal(options: StartOptions): Promise<{ code: number | null; records: Rpi["records"]; stderr: string }> {
  await using rpi = await start(options);
  const { code } = await rpi.exit();
  return { code, records: rpi.records, stderr: rpi.stderr };
}

/** Runs the binary to its end with plain text on stdout. */
async function plain(argv: string[], env: Record<string, string> = {}): Promise<{ code: number; stdout: string; stderr: string }> {
  using sandbox = new Sandbox();
  const child = Bun.spawn([await binary(), ...argv], { cwd: sandbox.cwd, env: sandbox.env(env), stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr };
}

test("the version is the package's", async () => {
  expect(VERSION).toBe(pkg.version);
  expect(await plain(["--version"])).toEqual({ code: 0, stdout: `${pkg.version}\n`, stderr: "" });
});

test("help goes to stdout with 0, and to stderr with 2 when nothing was asked", async () => {
  const help = await plain(["--help"]);
  expect(help).toEqual({ code: 0, stdout: expect.stringContaining("--drain-timeout"), stderr: "" });
  expect(await plain([])).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining("--mode") });
});

test("rpc and --mode rpc are the same, flags stand on both sides", async () => {
  for (const mode of [["rpc"], ["--mode", "rpc"], ["--no-session", "rpc", "-n", "x"], ["rpc", "--mode", "rpc"], ["--mode=rpc", "-nc", "--offline"]]) {
    await using rpi = await start({ mode });
    expect((await rpi.ok("get_state")).model).toMatchObject({ id: "faux-1", provider: "faux" });
    expect(await rpi.finish()).toEqual({ code: 0, signal: null });
  }
});

test("a usage error is 2, names what was wrong, and leaves stdout alone", async () => {
  const cases: [string[], RegExp][] = [
    [["--mode", "json"], /--mode json/], [["--mode", "text"], /--mode text/], [["--bogus", "--no-extensions"], /--bogus/], [["--model"], /--model/], [["--thinking", "huge"], /--thinking/],
    [["--on-eof", "maybe"], /--on-eof/], [["--drain-timeout", "soon"], /--drain-timeout/], [["--max-line-bytes", "x"], /--max-line-bytes/], [["@notes.md"], /prompt command/], [["say hello"], /prompt command/], [["--resume"], /rpi sessions/],
  ];
  for (const [args, words] of cases) {
    const end = await refusal({ args });
    expect({ args, code: end.code, records: end.records }).toEqual({ args, code: 2, records: [] });
    expect(end.stderr).toMatch(words);
  }
  for (const argv of [["schema", "x"], ["schema", "--bogus"], ["sessions", "--bogus"]]) expect(await plain(argv)).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining(argv[1]!) });
});

test("a start that is no command says what to write instead", async () => {
  const words = { models: '"models": there are rpc, schema and sessions', "--bogus": "--bogus", "--model=x": "`rpi rpc`", "-p": "`rpi rpc`", "--list-models": "`rpi rpc`" };
  for (const [word, why] of Object.entries(words)) {
    const end = await plain([word]);
    expect(end).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(/^rpi: .*\nSee rpi --help\.\n$/) });
    expect(end.stderr).toContain(why);
  }
});

test("a fatal start error is one record, its reason on stderr too, and 1", async () => {
  using sandbox = new Sandbox();
  const script = sandbox.write("script.json", "{nonsense");
  for (const options of [{ model: "nobody/knows" }, { args: ["-C", "missing"] }, { args: ["--faux-script", "missing.json"] }, { args: ["--faux-script", script] }] satisfies StartOptions[]) {
    const end = await refusal({ ...options, sandbox });
    expect(end.code).toBe(1);
    expect(end.records).toEqual([{ type: "response", command: "initialize", success: false, error: expect.stringMatching(/./), code: expect.stringMatching(/./) }]);
    expect(end.stderr).toContain(end.records[0]!["error"].split("\n")[0]);
  }
});

test("a model that is not chosen is told by the prompt, before any event", async () => {
  await using rpi = await start({ model: null });
  expect((await rpi.ok("get_state")).model).toBeUndefined();
  const from = rpi.mark();
  expect(await rpi.refused("prompt", { message: "hello" })).toEqual({ code: "unavailable", error: expect.stringContaining("--model") });
  expect(rpi.records.slice(from).map((record) => record.type)).toEqual(["response"]);
});

test("what lies in the workspace does not change rpi", async () => {
  using sandbox = new Sandbox();
  const evil = path.join(sandbox.dir, "evil");
  const dotenv = `PI_CODING_AGENT_DIR=${evil}\nPI_CODING_AGENT_SESSION_DIR=${evil}\nPI_FAUX_RESPONSE=evil\nOPENAI_API_KEY=evil\nHTTPS_PROXY=http://127.0.0.1:9\n`;
  sandbox.write(".env", dotenv);
  sandbox.write(".env.local", dotenv);
  sandbox.write("bunfig.toml", 'preload = ["./preload.ts"]\n');
  sandbox.write("preload.ts", `require("fs").writeFileSync(${JSON.stringify(evil)}, "preloaded"); console.log("preloaded");`);
  sandbox.write("tsconfig.json", "{ not json");
  sandbox.write("package.json", "{ not json");
  sandbox.write(".pi/settings.json", { defaultModel: "evil", shellPath: "/evil", sessionDir: evil });
  await using rpi = await start({ sandbox, turns: [[{ text: "mine" }]] });
  expect((await rpi.run("hi")).text).toBe("mine");
  expect((await rpi.ok("bash", { command: "echo [$OPENAI_API_KEY]" })).output).toBe("[]\n");
  expect((await rpi.ok("get_available_models")).models.map((model: { provider: string }) => model.provider)).toEqual(["faux"]);
  expect(existsSync(evil)).toBe(false);
});

test("an empty environment, a missing home and a strange agent folder are enough to start with", async () => {
  using sandbox = new Sandbox();
  const file = sandbox.write("a-file", "x");
  for (const env of [
    { PATH: undefined, HOME: undefined, PI_CODING_AGENT_DIR: undefined, TMPDIR: undefined, LANG: undefined },
    { PI_CODING_AGENT_DIR: path.join(sandbox.dir, "not", "there") },
    { PI_CODING_AGENT_DIR: file },
  ]) {
    await using rpi = await start({ sandbox, env, args: ["--no-session"], turns: [[{ text: "here" }]] });
    expect((await rpi.run("hi")).text).toBe("here");
    expect((await rpi.ok("bash", { command: "echo out" })).output).toBe("out\n");
    expect((await rpi.finish()).code).toBe(0);
  }
});

test("a broken settings or models file is told and the rest works", async () => {
  await using rpi = await start({ agentFiles: { "settings.json": "{ broken", "models.json": { providers: { "my-server": { api: 5, models: "x" } } } }, turns: [[{ text: "ok" }]] });
  expect((await rpi.run("hi")).text).toBe("ok");
  const notices = rpi.events("notice");
  expect(notices.some((notice) => notice["message"].includes("settings.json"))).toBe(true);
  expect(notices.some((notice) => notice["message"].includes("my-server"))).toBe(true);
  expect(rpi.stderr).toContain("settings.json");
});

test("a pipe in the place of a settings or models file is not waited for", async () => {
  using sandbox = new Sandbox();
  for (const name of ["settings.json", "models.json"]) expect(Bun.spawnSync(["mkfifo", path.join(sandbox.agentDir, name)]).exitCode).toBe(0);
  await using rpi = await start({ sandbox });
  await rpi.ok("get_state");
  expect(rpi.events("notice").map((notice) => notice["message"])).toEqual(["settings.json", "models.json"].map((name) => `${path.join(sandbox.agentDir, name)} cannot be read (not a file); going on without it`));
});

test("a session folder that cannot be written refuses the prompt in words and rpi lives on", async () => {
  if (process.getuid?.() === 0) return; // Root may write everywhere.
  using sandbox = new Sandbox();
  const folder = path.join(sandbox.dir, "locked");
  mkdirSync(folder);
  chmodSync(folder, 0o500);
  await using rpi = await start({ sandbox, args: ["--session-dir", folder] });
  expect((await rpi.refused("prompt", { message: "x" })).code).toBe("unavailable");
  expect(readdirSync(folder)).toEqual([]);
});

test("a closed stdin, stdout or stderr does not hang it", async () => {
  using sandbox = new Sandbox();
  const rpi = await binary();
  for (const [redirect, codes] of [["<&-", [0]], ["</dev/null", [0]], [">&- </dev/null", [0, 1]], ["2>&- </dev/null", [0]], ["<&- >&- 2>&-", [0, 1]]] as const) {
    const child = Bun.spawn(["sh", "-c", `"$0" rpc --model faux/faux-1 ${redirect}`, rpi], { cwd: sandbox.cwd, env: sandbox.env(), stdin: "pipe", stdout: "pipe", stderr: "pipe" });
    const timer = setTimeout(() => child.kill("SIGKILL"), 8000);
    const code = await child.exited;
    clearTimeout(timer);
    expect(codes as readonly number[]).toContain(code);
  }
});

test("--provider alone keeps to the models of that provider; without it faux is never picked", async () => {
  const server = (...ids: string[]) => ({ baseUrl: "http://127.0.0.1:9/v1", api: "openai-completions", models: ids.map((id) => ({ id })) });
  const agentFiles = { "models.json": { providers: { one: server("a", "b"), two: server("c", "d") } }, "settings.json": { defaultProvider: "two", defaultModel: "d" } };
  const chosen: Record<string, string> = {};
  for (const args of [[], ["--provider", "one"], ["--provider", "two"], ["--provider", "faux"], ["--models", "two/c,one/b"], ["--models", "two/c,one/b", "--provider", "one"]]) {
    await using rpi = await start({ model: null, args, agentFiles });
    const { provider, id } = (await rpi.ok("get_state")).model;
    chosen[args.join(" ")] = `${provider}/${id}`;
  }
  expect(chosen).toEqual({ "": "two/d", "--provider one": "one/a", "--provider two": "two/d", "--provider faux": "faux/faux-1", "--models two/c,one/b": "two/c", "--models two/c,one/b --provider one": "one/b" });
  expect((await refusal({ model: null, args: ["--provider", "three"], agentFiles })).records).toMatchObject([{ command: "initialize", success: false, error: expect.stringContaining("--provider three has no model") }]);
  await using none = await start({ model: null });
  expect((await none.ok("get_state")).model).toBeUndefined();
});
