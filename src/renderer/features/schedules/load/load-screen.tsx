export function LoadScreen() {
  return null
}
