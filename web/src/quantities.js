// Numbers in base units (octets, bit/s, seconds) as text, and what sliders make of them.

const UNITS = {
  size: [['B', 1], ['KB', 1e3], ['MB', 1e6], ['GB', 1e9]],
  rate: [['b/s', 1], ['Kb/s', 1e3], ['Mb/s', 1e6], ['Gb/s', 1e9], ['Tb/s', 1e12]],
  time: [['s', 1], ['ms', 1e-3], ['us', 1e-6], ['ns', 1e-9]],
}

/** A number with a unit that a person would choose, as scenario files write it. */
export function quantity(value, type, digits = 3) {
  if (!(type in UNITS)) return String(Number(value.toPrecision(digits)))
  const units = [...UNITS[type]].sort((a, b) => b[1] - a[1])
  const [unit, size] = units.find(([, size]) => Math.abs(value) >= size * 0.9995) ?? units[units.length - 1]
  return `${Number((value / size).toPrecision(digits))} ${unit}`
}

/** The same for people: with the sign for micro. */
export const shown = (value, type, digits) => quantity(value, type, digits).replace(' us', ' µs')

/** A count with thousands set apart. */
export const count = (value) => Math.round(value).toLocaleString('en')

/** What a key of a tree holds: `hotspot.0.rate`. */
export const at = (tree, key) => key.split('.').reduce((part, name) => part?.[name], tree)

/** How many letters a slider's box takes. */
export const LONGEST = 24

export const POSITIONS = 400

/** The position of a value on a slider whose steps are ratios. */
export const position = (value, { min, max }) =>
  Math.round((POSITIONS * Math.log(Math.max(value, min) / min)) / Math.log(max / min))

/** The value at a position, rounded to two digits. */
export function value(place, { min, max, type }) {
  const exact = min * (max / min) ** (place / POSITIONS)
  return type === 'integer' ? Math.round(exact) : Number(exact.toPrecision(2))
}
