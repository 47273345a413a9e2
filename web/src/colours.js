// Okabe and Ito's colours, which people with any kind of colour blindness tell apart; lines differ in dashes, too.

export const LIGHT = ['#0072B2', '#D55E00', '#009E73', '#A8508A']
export const DARK = ['#56B4E9', '#E69F00', '#1FBF92', '#E39AC4']
export const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]]

const system = matchMedia('(prefers-color-scheme: dark)')
export const isDark = () => {
  const chosen = document.documentElement.dataset.theme
  return chosen ? chosen === 'dark' : system.matches
}

export const colours = () => (isDark() ? DARK : LIGHT)

const known = new Map()

/** A colour of the style sheet. Asking for one makes the browser compute styles, so that each is asked for once. */
export function css(name) {
  const key = `${name} ${isDark()}`
  if (!known.has(key)) {
    const probe = document.body.appendChild(document.createElement('i'))
    probe.style.color = `var(${name})`
    known.set(key, getComputedStyle(probe).color)
    probe.remove()
  }
  return known.get(key)
}

/** The same, that much of it. */
export const pale = (name, share) => `color-mix(in srgb, ${css(name)} ${100 * share}%, transparent)`
