// The other side of crates/wasm: calls into the module, text and numbers out of it.

/** A laboratory: one instance of the module, with runs of its own. */
export class Lab {
  constructor(instance) {
    this.exports = instance.exports
    /** What the module calls its tables and what it answers of a port: `tables`, `recorded`, `port`. */
    this.names = this.json('names')
  }

  static async of(module) {
    return new Lab((await WebAssembly.instantiate(module, {})).instance)
  }

  /** Calls a function whose answer is text. `input` is text, or a value that is sent as JSON. */
  text(name, input = '', ...args) {
    return new TextDecoder().decode(this.#call(name, input, args))
  }

  /** As text, parsed. */
  json(name, input, ...args) {
    return JSON.parse(this.text(name, input, ...args))
  }

  /** Calls a function whose answer is 64-bit floats. */
  numbers(name, ...args) {
    const octets = this.#call(name, '', args)
    return new Float64Array(octets.slice().buffer)
  }

  /** The rows of a table from row `from` on: how many, and each column by its name. */
  rows(run, table, from) {
    const number = this.names.recorded.findIndex(([name]) => name === table)
    const all = this.numbers('recorded', run, number, from)
    const count = all[0]
    const column = (_, at) => all.subarray(1 + at * count, 1 + (at + 1) * count)
    const [, names] = this.names.recorded[number]
    return { count, ...Object.fromEntries(names.map((name, at) => [name, column(name, at)])) }
  }

  forget(run) {
    this.exports.forget(run)
  }

  #call(name, input, args) {
    const octets = new TextEncoder().encode(typeof input === 'string' ? input : JSON.stringify(input))
    const at = this.exports.input(octets.length)
    new Uint8Array(this.exports.memory.buffer, at, octets.length).set(octets)
    let failed
    try {
      failed = this.exports[name](...args)
    } catch (trap) {
      throw new Error(`the module stopped (${trap.message}): ${new TextDecoder().decode(this.#answer())}`)
    }
    if (failed) throw new Error(new TextDecoder().decode(this.#answer()))
    return this.#answer()
  }

  #answer() {
    return new Uint8Array(this.exports.memory.buffer, this.exports.answer(), this.exports.answer_octets())
  }
}
