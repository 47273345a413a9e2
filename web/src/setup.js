// What is set up: a scenario, changes to it, and the schemes that run side by side. It is the page's fragment, so that a
// link shares it.

export const FIRST = {
  scenario: 'og-hotspot-2src-10g-to-500m-rtt200us',
  text: null,
  set: {},
  variants: [{ scheme: 'qcn', set: {} }, { scheme: 'ecm', set: {} }],
  pace: 0,
  lesson: null,
  // One run misleads: where recovery times spread, medians and ranges stand.
  reps: 10,
}
export const MOST_VARIANTS = 4

const encode = (text) => {
  const octets = Array.from(new TextEncoder().encode(text), (octet) => String.fromCharCode(octet))
  return btoa(octets.join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

const decode = (text) => {
  const octets = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return new TextDecoder().decode(Uint8Array.from(octets, (letter) => letter.charCodeAt(0)))
}

const pairs = (set) => Object.entries(set).map(([key, value]) => `${key}=${value}`)

const pair = (text) => {
  const equals = text.indexOf('=')
  return [text.slice(0, equals), text.slice(equals + 1)]
}

/** How many replications an address asks for: 1, or as many as the switch gives. */
const repetitions = (text) => (Number(text) > 1 ? FIRST.reps : 1)

/** The fragment of a setup. */
export function toFragment({ scenario, text, set, variants, pace, lesson, reps }) {
  const words = new URLSearchParams()
  if (lesson !== null) words.append('lesson', lesson)
  if (text === null) words.append('scenario', scenario)
  else words.append('text', encode(text))
  pairs(set).forEach((word) => words.append('set', word))
  variants.forEach((variant) => words.append('run', [variant.scheme, ...pairs(variant.set)].join('|')))
  if (pace) words.append('pace', pace)
  if (reps > 1) words.append('reps', reps)
  return words.toString().replaceAll('%3D', '=').replaceAll('%7C', '|').replaceAll('+', '%20')
}

/** The setup of a fragment; what it does not say is as in the first one. */
export function fromFragment(fragment) {
  const words = new URLSearchParams(fragment.replace(/^#/, ''))
  const variants = words.getAll('run').slice(0, MOST_VARIANTS).map((text) => {
    const [scheme, ...set] = text.split('|')
    return { scheme, set: Object.fromEntries(set.map(pair)) }
  })
  let text = null
  try {
    if (words.has('text')) text = decode(words.get('text'))
  } catch {
    text = '# This link is damaged: its scenario cannot be read.\n'
  }
  const scenario = words.get('scenario')
  const fresh = scenario !== null || text !== null
  return {
    scenario: scenario ?? FIRST.scenario,
    text,
    set: Object.fromEntries(words.getAll('set').map(pair)),
    variants: variants.length ? variants : fresh ? [{ scheme: null, set: {} }] : structuredClone(FIRST.variants),
    pace: Number(words.get('pace')) || 0,
    lesson: words.get('lesson'),
    reps: words.has('reps') || fresh ? repetitions(words.get('reps')) : FIRST.reps,
  }
}

/** What is asked of the module for one variant. `own` is the scheme of the file itself. */
export function asked(setup, variant, text, own) {
  const scheme = variant.scheme && variant.scheme !== own ? [`scheme.name=${variant.scheme}`] : []
  const set = [...pairs(setup.set), ...scheme, ...pairs(variant.set)]
  return { text, name: setup.text === null ? `${setup.scenario}.toml` : 'your scenario.toml', set }
}
