// Which keys of a scenario have a control, with plain names.

import { at } from './quantities.js'

const NETWORK = [
  ['topology.sources', 'Sources', { min: 1, max: 100 }],
  ['topology.rtt', 'Round trip', { min: 1e-6, max: 2e-3 }],
  ['topology.delay', 'Delay of a link', { min: 1e-7, max: 1e-3 }],
  ['topology.buffer', 'Buffer of the port', { min: 1e4, max: 1e7 }],
  ['switch.0.input_memory', 'Memory of a switch input', { min: 2e4, max: 1e7 }],
  ['hotspot.0.rate', 'Rate in the hotspot', { min: 5e7, max: 1e10 }],
  ['hotspot.0.until', 'End of the hotspot', { min: 1e-2, max: 1e1 }],
  ['traffic.0.rate', 'Rate that a source offers', { min: 1e7, max: 1e11 }],
  ['duration', 'Simulated time', { min: 1e-3, max: 1e1 }],
]

const NAMES = {
  'scheme.cp.set_point': 'Set point: the queue that is aimed at',
  'scheme.cp.w': 'w: weight of the queue’s growth',
  'scheme.rp.w': 'w: weight of the queue’s growth',
  'scheme.cp.sample_base': 'Octets between samples',
  'scheme.rp.gd': 'Gd: cut for each unit of feedback',
  'scheme.rp.gi': 'Gi: raise for each unit of feedback',
  'scheme.rp.clock': 'What raises the rate',
  'scheme.rp.byte_reset': 'Byte counter’s cycle',
  'scheme.rp.time_reset': 'Timer’s cycle',
  'scheme.rp.ai_rate': 'Active increase',
  'scheme.rp.hai_rate': 'Hyper-active increase',
}
const FIRST = Object.keys(NAMES)
const SLIDES = ['size', 'rate', 'time', 'number', 'integer']

/** Controls of the network: those of the keys that the scenario has. */
export function networkKnobs(values, parameters) {
  const knobs = NETWORK.filter(([key]) => typeof at(values, key) === 'number')
  return knobs.map(([key, label, range]) => {
    const plain = key.replace(/\.\d+/, '')
    const known = parameters.find((parameter) => parameter.key === plain)
    const now = at(values, key)
    return { key, label, type: known?.type ?? 'number', about: known?.about ?? '', ...around(now, range) }
  })
}

/** Controls of a scheme, those that matter most first. */
export function schemeKnobs(values, parameters) {
  const name = values.scheme.name
  const own = parameters.filter((parameter) => parameter.scheme === name && parameter.key !== 'scheme.preset')
  const rank = (key) => (FIRST.includes(key) ? FIRST.indexOf(key) : FIRST.length)
  const knobs = own.flatMap((parameter) => {
    const { key, type, about, choices } = parameter
    const now = at(values, key)
    // ECM's port has a w that no message depends on.
    const idle = key === 'scheme.cp.w' && own.some((other) => other.key === 'scheme.rp.w')
    const label = (idle ? null : NAMES[key]) ?? words(key)
    if (type === 'choice') return [{ key, label, type, about, choices }]
    if (type === 'boolean') return [{ key, label, type, about }]
    if (!SLIDES.includes(type) || typeof now !== 'number') return []
    const middle = parameter.default_base || now || 1
    return [{ key, label, type, about, ...around(now, { min: middle / 32, max: middle * 32 }) }]
  })
  return knobs.sort((a, b) => rank(a.key) - rank(b.key)).map((knob) => ({ ...knob, first: knob.label === NAMES[knob.key] }))
}

/** A range that holds the present value. */
const around = (now, { min, max }) => ({ min: now > 0 ? Math.min(min, now) : min, max: Math.max(max, now) })

/** What the page calls a key, in short: where its slider says more behind a colon, without that. */
export function plainName(key) {
  const network = NETWORK.find(([known]) => known === key || known.replace(/\.\d+/, '') === key)
  return (network?.[1] ?? NAMES[key] ?? words(key)).split(':')[0]
}

const ROLES = { cp: ' (port)', rp: ' (source)', np: ' (receiver)' }
const words = (key) => {
  const parts = key.replace(/^scheme\./, '').split('.')
  return `${parts.at(-1).replaceAll('_', ' ')}${key.startsWith('scheme.') ? (ROLES[parts[0]] ?? '') : ''}`
}
