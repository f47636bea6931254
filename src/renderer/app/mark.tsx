export function Mark() {
  return (
    <svg
      width="20"
      height="20"
      viewBox="0 0 24 24"
      fill="none"
      stroke="var(--accent)"
      strokeWidth="1.8"
      strokeLinecap="round"
      aria-hidden
    >
      <path d="M4 6h16M4 12h10M4 18h6" />
      <circle cx="18" cy="15.5" r="3.5" />
      <path d="M18 9.5V12M22.4 18l-1.6-1M13.6 18l1.6-1" />
    </svg>
  )
}
