import { describe, expect, test } from "bun:test";
import type { AgentEvent } from "../../src/agent/events.ts";
import type { ModelSpec } from "../../src/llm/model.ts";
import { diskFull, rig, spec } from "./rig.ts";

const plain = spec("plain");
const thinks = spec("thinks", { reasoning: true });
const narrow: ModelSpec = { ...spec("narrow", { reasoning: true }), thinkingLevelMap: { minimal: null, medium: null } };
const keyless = spec("keyless", { name: "no key" });
const faux = spec("faux-1", { provider: "faux" });

const changes = (events: readonly AgentEvent[]) => events.map((event) => (event.type === "model_changed" ? event.model.id : event.type === "thinking_level_changed" ? event.level : event.type));
const stored = ({ session }: ReturnType<typeof rig>) => [...session.branch()].map((entry) => (entry.type === "model_change" ? entry.modelId : entry.type === "thinking_level_change" ? entry.thinkingLevel : entry.type));

describe("the model", () => {
  test("is changed, stored and told, and holds from the next call on", async () => {
    const r = rig({ spec: plain, specs: [plain, thinks] });
    expect(r.agent.setModel(thinks)).toEqual(thinks.model);
    expect([r.agent.model, changes(r.events), stored(r)]).toEqual([thinks, ["thinks"], ["thinks"]]);
    await r.run("hi");
    expect(r.session.messages().at(-1)).toMatchObject({ model: "thinks" });
  });

  test("without a key is refused and changes nothing", () => {
    const r = rig({ spec: plain });
    expect(() => r.agent.setModel(keyless)).toThrow(/No key for p\/keyless/);
    expect([r.agent.model, r.events, stored(r)]).toEqual([plain, [], []]);
  });

  test("that cannot be stored is refused and changes nothing", () => {
    const r = rig({ spec: plain });
    r.session.append = () => { throw diskFull(); };
    expect(() => r.agent.setModel(thinks)).toThrow("The model was not changed: ENOSPC: no space left on device");
    expect([r.agent.model, r.events]).toEqual([plain, []]);
  });

  test("goes round all that are available, but for the built-in one", () => {
    const { agent } = rig({ spec: plain, specs: [plain, thinks, narrow, faux] });
    expect([1, 2, 3].map(() => agent.cycleModel()?.model.id)).toEqual(["thinks", "narrow", "plain"]);
    expect(rig({ spec: plain, specs: [plain, faux] }).agent.cycleModel()).toBeNull();
    expect(rig({ spec: faux, specs: [plain, faux] }).agent.cycleModel()).toMatchObject({ model: { id: "plain" }, isScoped: false });
    expect(rig({ spec: undefined, specs: [plain] }).agent.cycleModel()).toMatchObject({ model: { id: "plain" } });
  });

  test("goes round a scope, with the levels it names; one is no choice", () => {
    const { agent } = rig({ spec: plain, more: { scope: [{ spec: plain }, { spec: keyless }, { spec: thinks, level: "high" }, { spec: faux }] } });
    expect([1, 2, 3].map(() => agent.cycleModel())).toMatchObject([
      { model: { id: "thinks" }, thinkingLevel: "high", isScoped: true }, { model: { id: "faux-1" }, thinkingLevel: "off" }, { model: { id: "plain" } },
    ]);
    expect(rig({ spec: plain, specs: [plain, thinks], more: { scope: [{ spec: plain }] } }).agent.cycleModel()).toBeNull();
  });
});

describe("the thinking level", () => {
  test("is fitted to the model, stored and told when it changes", () => {
    const r = rig({ spec: thinks, level: "low" });
    expect(r.agent.setLevel("max")).toEqual({ requested: "max", level: "high", clamped: true });
    expect(r.agent.setLevel("high")).toEqual({ requested: "high", level: "high", clamped: false });
    expect([changes(r.events), stored(r)]).toEqual([["high"], ["high"]]);
  });

  test("is off without reasoning, and what was asked for comes back with a model that can", () => {
    const r = rig({ spec: plain, level: "medium" });
    expect([r.agent.thinkingLevel, r.agent.levels(), r.agent.cycleLevel()]).toEqual(["off", ["off"], null]);
    r.agent.setModel(thinks);
    expect(r.agent.thinkingLevel).toBe("medium");
    r.agent.setModel(narrow);
    expect([r.agent.thinkingLevel, r.agent.levels()]).toEqual(["high", ["off", "low", "high"]]);
    r.agent.setModel(plain);
    expect(changes(r.events)).toEqual(["thinks", "medium", "narrow", "high", "plain", "off"]);
  });

  test("goes round those of the model", () => {
    const { agent } = rig({ spec: narrow, level: "low" });
    expect([1, 2, 3].map(() => agent.cycleLevel())).toEqual([{ level: "high" }, { level: "off" }, { level: "low" }]);
  });

  test("goes along with the next request", async () => {
    const r = rig({ spec: thinks, level: "low" });
    await r.run("hi");
    r.agent.setLevel("high");
    await r.run("hi");
    expect(r.requests.map(({ thinkingLevel }) => thinkingLevel)).toEqual(["low", "high"]);
  });
});

describe("the name of a session", () => {
  test("is trimmed, on one line, stored and told; an empty one is refused", () => {
    const { agent, session, events } = rig();
    agent.rename("  one\ntwo\r\nthree ");
    expect(session.name).toBe("one two three");
    expect(events).toEqual([{ type: "session_info_changed", name: "one two three" }]);
    for (const name of ["", " \n "]) expect(() => agent.rename(name)).toThrow("Session name cannot be empty");
  });
});
