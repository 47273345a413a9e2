// Workers with laboratories, asked by promises.

import base64 from 'virtual:module'
import LabWorker from './worker.js?worker&inline'

const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))
// A page from disk may not hand a compiled module to a worker; each worker compiles it.
const module = new Response(unpacked).arrayBuffer()

export class Bench {
  #worker = new LabWorker()
  #waiting = new Map()
  #next = 0

  constructor() {
    this.#worker.onmessage = ({ data }) => {
      const { resolve, reject } = this.#waiting.get(data.id)
      this.#waiting.delete(data.id)
      if (data.error === undefined) resolve(data.value)
      else reject(new Error(data.error))
    }
    this.#worker.onerror = ({ message }) => {
      this.#waiting.forEach(({ reject }) => reject(new Error(message || 'the worker did not start')))
      this.#waiting.clear()
    }
    this.ready = module.then((module) => this.#ask('open', { module }))
  }

  /** Ends the worker; what it was asked stays without an answer. */
  stop() {
    this.#worker.terminate()
  }

  async ask(task, what = {}) {
    await this.ready
    return this.#ask(task, what)
  }

  #ask(task, what) {
    const id = this.#next++
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#worker.postMessage({ id, task, ...what })
    })
  }
}
