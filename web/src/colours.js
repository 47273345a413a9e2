// Okabe and Ito's colours, which people with any kind of colour blindness tell apart; lines differ in dashes, too.

export const LIGHT = ['#0072B2', '#D55E00', '#009E73', '#A8508A']
export const DARK = ['#56B4E9', '#E69F00', '#1FBF92', '#E39AC4']
export const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]]

export const isDark = () => {
  const chosen = document.documentElement.dataset.theme
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
}

export const colours = () => (isDark() ? DARK : LIGHT)
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
