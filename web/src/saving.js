// Files that a viewer keeps, made in the page.

import { css } from './colours.js'

export function save(name, content, type) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
}

/** Saves canvases in two columns under a title and a legend. */
export function savePicture(name, canvases, [title, ...legend]) {
  const scale = devicePixelRatio || 1
  const columns = Math.min(2, canvases.length)
  const [width, height] = ['width', 'height'].map((side) => Math.max(...canvases.map((canvas) => canvas[side])))
  const caption = 20 * scale
  const top = (34 + 20 * legend.length) * scale
  const picture = document.createElement('canvas')
  picture.width = width * columns
  picture.height = top + Math.ceil(canvases.length / columns) * (height + caption)
  const pen = picture.getContext('2d')
  pen.fillStyle = css('--page')
  pen.fillRect(0, 0, picture.width, picture.height)
  pen.fillStyle = css('--text')
  pen.font = `600 ${15 * scale}px system-ui, sans-serif`
  pen.fillText(title, 8 * scale, 20 * scale, picture.width - 16 * scale)
  pen.font = `${13 * scale}px system-ui, sans-serif`
  legend.forEach((one, number) => {
    pen.fillStyle = one.colour
    pen.fillText(`■ ${one.name}`, 8 * scale, (42 + 20 * number) * scale)
  })
  canvases.forEach((canvas, number) => {
    const x = (number % columns) * width
    const y = top + Math.floor(number / columns) * (height + caption)
    pen.fillStyle = css('--text')
    pen.fillText(canvas.closest('figure').querySelector('figcaption').textContent, x + 8 * scale, y + 14 * scale)
    pen.drawImage(canvas, x, y + caption)
  })
  picture.toBlob((blob) => save(name, blob, 'image/png'))
}
