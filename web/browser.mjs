// Chromium without a window, spoken to over a pipe: Debian's own browser, nothing to install besides.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";

const kPatience = 60_000;  // milliseconds for one answer

export class Browser {
  #process;
  #profile;
  #pipe;
  #next = 1;
  #waiting = new Map();  // id → {resolve, reject}
  #listeners = new Map();  // session → what to call with its events

  static async start(program = process.env.TACET_CHROMIUM ?? "chromium") {
    const browser = new Browser();
    browser.#profile = mkdtempSync(path.join(os.tmpdir(), "tacet-chromium-"));
    browser.#process = spawn(program, [
      "--headless", "--remote-debugging-pipe", `--user-data-dir=${browser.#profile}`,
      "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
      ...(process.getuid() === 0 ? ["--no-sandbox"] : []),
    ], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    browser.#pipe = browser.#process.stdio[3];
    browser.#pipe.on("error", () => {});  // the end of the process tells
    browser.#process.on("error", (error) => browser.#fail(error));
    browser.#process.on("exit", (code) => browser.#fail(new Error(`chromium left with ${code}`)));
    let rest = "";
    browser.#process.stdio[4].setEncoding("utf8").on("data", (text) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop();
      for (const message of messages) browser.#receive(JSON.parse(message));
    });
    await browser.send("Browser.getVersion");
    return browser;
  }

  #fail(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #receive(message) {
    if (message.id === undefined) {
      this.#listeners.get(message.sessionId)?.(message.method, message.params);
      return;
    }
    const { resolve, reject } = this.#waiting.get(message.id) ?? {};
    this.#waiting.delete(message.id);
    if (message.error) reject?.(new Error(message.error.message));
    else resolve?.(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer to ${method}`)), kPatience);
      const settle = (how) => (value) => {
        clearTimeout(timer);
        how(value);
      };
      this.#waiting.set(id, { resolve: settle(resolve), reject: settle(reject) });
      this.#pipe.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** Opens a file, or an http address, and waits until it is drawn. sharpness: device pixels of a CSS pixel. */
  async open(where, { width = 1200, height = 900, dark = false, sharpness = 1 } = {}) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, targetId, sessionId);
    this.#listeners.set(sessionId, (method, params) => page.heard(method, params));
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await page.send(`${domain}.enable`);
    await page.send("Emulation.setDeviceMetricsOverride",
      { width, height, deviceScaleFactor: sharpness, mobile: width < 600 });
    await page.send("Emulation.setEmulatedMedia",
      { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
    await page.load("Page.navigate", { url: where.startsWith("http:") ? where : `file://${encodeURI(where)}` });
    return page;
  }

  async close() {
    const ended = new Promise((resolve) => this.#process.on("exit", resolve));
    this.send("Browser.close").catch(() => {});
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), 5000);
    await ended;
    clearTimeout(timer);
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * One tab. `problems`: errors and warnings of its console; `requests`: addresses it asked for; `questions`: what its
 * dialogs asked, each of which is answered by yes.
 */
class Page {
  problems = [];
  requests = [];
  questions = [];
  #browser;
  #target;
  #session;
  #expected = new Map();

  constructor(browser, target, session) {
    this.#browser = browser;
    this.#target = target;
    this.#session = session;
  }

  send(method, params) {
    return this.#browser.send(method, params, this.#session);
  }

  next(method) {
    return new Promise((resolve) => this.#expected.set(method, resolve));
  }

  /** Sends what makes the tab load a document, and waits until that is drawn. */
  async load(method, params) {
    const loaded = this.next("Page.loadEventFired");
    await this.send(method, params);
    await loaded;
    await this.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))");
  }

  reload() {
    return this.load("Page.reload");
  }

  heard(method, params) {
    if (method === "Runtime.exceptionThrown") {
      this.problems.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    } else if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type)) {
      this.problems.push(params.args.map((argument) => argument.value ?? argument.description).join(" "));
    } else if (method === "Log.entryAdded" && params.entry.level !== "info" && params.entry.level !== "verbose") {
      this.problems.push(params.entry.text);
    } else if (method === "Network.requestWillBeSent") {
      this.requests.push(params.request.url);
    } else if (method === "Page.javascriptDialogOpening") {
      this.questions.push(params.message);
      this.send("Page.handleJavaScriptDialog", { accept: true }).catch(() => {});
    }
    this.#expected.get(method)?.(params);
    this.#expected.delete(method);
  }

  /** The value of an expression in the page; promises are waited for. */
  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate",
      { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Presses and releases a key on what has the focus. */
  async press(key) {
    const text = key === "Enter" ? { text: "\r" } : {};
    const windowsVirtualKeyCode = { Enter: 13, Tab: 9 }[key];
    for (const type of ["keyDown", "keyUp"]) {
      await this.send("Input.dispatchKeyEvent", { type, key, code: key, windowsVirtualKeyCode, ...(type === "keyDown" ? text : {}) });
    }
  }

  /** Moves the mouse to the middle of what an expression in the page finds, and clicks there. */
  async click(found) {
    const { x, y } = await this.evaluate(`(() => {
      const element = ${found};
      element.scrollIntoView({ block: "center" });
      const { left, top, width, height } = element.getBoundingClientRect();
      return { x: left + width / 2, y: top + height / 2 };
    })()`);
    for (const type of ["mouseMoved", "mousePressed", "mouseReleased"]) {
      await this.send("Input.dispatchMouseEvent", { type, x, y, button: type === "mouseMoved" ? "none" : "left", clickCount: 1 });
    }
  }

  /** Types into what has the focus. */
  type(text) {
    return this.send("Input.insertText", { text });
  }

  /** What a selector finds as a PNG; the whole page without one. */
  async picture(selector = "html") {
    const clip = await this.evaluate(`(({ x, y, width, height }) => ({ x, y, width, height, scale: 1 }))(
      document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect())`);
    const { data } = await this.send("Page.captureScreenshot", { captureBeyondViewport: true, clip });
    return Buffer.from(data, "base64");
  }

  close() {
    return this.#browser.send("Target.closeTarget", { targetId: this.#target });
  }
}
