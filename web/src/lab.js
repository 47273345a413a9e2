// The other side of crates/wasm: calls into the module, text and numbers out of it.

export const TABLE = { queues: 0, rates: 1, throughput: 2, messages: 3, pauses: 4, drops: 5 }

/** A laboratory: one instance of the module, with runs of its own. */
export class Lab {
  constructor(instance) {
    this.exports = instance.exports
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

  /** The rows of a table from row `from` on, as columns. */
  rows(run, table, from) {
    const all = this.numbers('recorded', run, table, from)
    const count = all[0]
    const columns = []
    for (let at = 1; at < all.length; at += count) columns.push(all.subarray(at, at + count))
    return { count, columns }
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
